CREATE TABLE Singers(SingerID INT PRIMARY KEY, Name VARCHAR(40), Voice VARCHAR(10), JoinedYear INT, Age INT);
CREATE TABLE Pieces(PieceID INT PRIMARY KEY, Title VARCHAR(60), Composer VARCHAR(40), Minutes REAL, Language VARCHAR(20));
CREATE TABLE Performances(PerformanceID INT PRIMARY KEY, PieceID INT, Venue VARCHAR(40), PerformedOn DATE, Audience INT, FOREIGN KEY(PieceID) REFERENCES Pieces(PieceID));
CREATE TABLE Solos(PerformanceID INT, SingerID INT, FOREIGN KEY(PerformanceID) REFERENCES Performances(PerformanceID), FOREIGN KEY(SingerID) REFERENCES Singers(SingerID));
INSERT INTO Singers VALUES (1,'Agnes Roe','soprano',2011,34),(2,'Bram Dekker','bass',2015,52),(3,'Celia Ortiz','alto',2011,29),(4,'Dario Neri','tenor',2019,41),(5,'Edith Lund','soprano',2020,23),(6,'Femi Ade','bass',2008,60);
INSERT INTO Pieces VALUES (1,'Ave Verum','Mozart',3.5,'Latin'),(2,'Requiem','Mozart',55,'Latin'),(3,'Shenandoah','Traditional',4,'English'),(4,'Abendlied','Rheinberger',3,'German'),(5,'Messiah','Handel',140,'English');
INSERT INTO Performances VALUES (1,1,'Town Hall','2021-12-04',120),(2,5,'St Mark','2021-12-18',410),(3,3,'Town Hall','2022-03-12',95),(4,1,'St Mark','2022-06-25',230),(5,4,'River Stage','2022-08-07',310);
INSERT INTO Solos VALUES (1,1),(2,1),(2,2),(2,4),(3,3),(5,5);
