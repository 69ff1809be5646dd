CREATE TABLE tutor (tutorId INTEGER PRIMARY KEY, tutorName TEXT, hourlyFee REAL, since INTEGER);
CREATE TABLE evening_class (classId INTEGER PRIMARY KEY, topic TEXT, weekday TEXT, roomNo TEXT, maxSeats INTEGER, tutorId INTEGER REFERENCES tutor);
CREATE TABLE learner (learnerId INTEGER PRIMARY KEY, learnerName TEXT, occupation TEXT, age INTEGER);
CREATE TABLE signup (classId INTEGER REFERENCES evening_class(classId), learnerId INTEGER REFERENCES learner(learnerId), signedOn DATE, feePaid INTEGER);
INSERT INTO tutor VALUES (1,'Hal Orme',32.5,2009),(2,'Ivy Song',40,2016),(3,'Juno Reyes',28,2021);
INSERT INTO evening_class VALUES (1,'Pottery','Monday','R1',12,1),(2,'Spanish','Tuesday','R4',20,2),(3,'Watercolour','Thursday','R1',10,1),(4,'Bookkeeping','Tuesday','R2',25,3),(5,'Italian','Friday','R4',18,2);
INSERT INTO learner VALUES (1,'Gus Pike','plumber',45),(2,'Hana Lowe','nurse',31),(3,'Ike Bond','teacher',58),(4,'Joan Tarr','nurse',27),(5,'Kit Moyle','student',20);
INSERT INTO signup VALUES (1,1,'2023-08-20',1),(1,2,'2023-08-22',0),(2,2,'2023-08-25',1),(2,3,'2023-09-01',1),(2,5,'2023-09-02',0),(4,4,'2023-08-30',1),(5,3,'2023-09-05',1);
