CREATE TABLE Pet (PetId INTEGER PRIMARY KEY, PetName TEXT, Kind TEXT, BirthYear INTEGER, OwnerId INTEGER, WeightKg REAL, FOREIGN KEY (OwnerId) REFERENCES Owner(OwnerId));
CREATE TABLE Owner (OwnerId INTEGER PRIMARY KEY, OwnerName TEXT, City TEXT, Email TEXT);
CREATE TABLE Treatment (TreatmentId INTEGER PRIMARY KEY, PetId INTEGER, VetName TEXT, Reason TEXT, Cost REAL, TreatedOn DATE, FOREIGN KEY (PetId) REFERENCES Pet(PetId));
INSERT INTO Owner VALUES (1,'Ada Quist','Malmo','ada@q.se'),(2,'Ben Ito','Lund',NULL),(3,'Cleo Faur','Malmo','cleo@faur.ro'),(4,'Dag Vik','Ystad',NULL);
INSERT INTO Pet VALUES (1,'Biscuit','dog',2015,1,23.5),(2,'Momo','cat',2019,2,4.2),(3,'Kiwi','parrot',2010,2,0.4),(4,'Rufus','dog',2012,3,31),(5,'Luna','cat',2021,1,3.9),(6,'Nibbles','rabbit',2020,3,2.1);
INSERT INTO Treatment VALUES (1,1,'Dr Falk','vaccination',45,'2022-01-14'),(2,2,'Dr Falk','surgery',410,'2022-03-03'),(3,4,'Dr Ames','x-ray',120,'2022-07-21'),(4,1,'Dr Ames','dental',95.5,'2022-11-02'),(5,5,'Dr Falk','vaccination',45,'2023-02-08'),(6,4,'Dr Noor','surgery',560,'2023-05-30');
