create table drivers (id integer primary key, name text, licence_no text, hired date, vehicle_id int);
create table vehicles (id integer primary key, plate text, kind text, km int);
create table drops (id integer primary key, driver_id int, town text, parcels int, weight_kg real, delivered_at date, status text);
insert into drivers values (1,'Sal Greco','L-882','2017-02-01',2),(2,'Mina Patel','L-104','2020-09-14',1),(3,'Otto Brandt','L-553','2012-11-30',3),(4,'Yara Haddou','L-919','2022-01-10',null);
insert into vehicles values (1,'KR 221 B','van',84000),(2,'KR 870 T','truck',212000),(3,'LM 045 C','van',43000),(4,'LM 999 A','bike',1200);
insert into drops values (1,1,'Ostia',12,140.5,'2023-03-01','done'),(2,1,'Tivoli',7,66,'2023-03-02','done'),(3,2,'Ostia',20,91,'2023-03-02','failed'),(4,3,'Lecce',4,230,'2023-03-05','done'),(5,2,'Tivoli',9,48.5,'2023-03-07','done'),(6,3,'Ostia',15,77,'2023-03-09','late'),(7,3,'Lecce',2,12,'2023-03-11','failed');
