-- A bicycle rental in a small town.
CREATE TABLE bikes (
    bike_id     INTEGER PRIMARY KEY,
    model       TEXT NOT NULL,
    frame_size  INTEGER,
    daily_rate  REAL NOT NULL,
    electric    INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE renters (
    renter_id INTEGER PRIMARY KEY,
    full_name TEXT NOT NULL,
    home_town TEXT,
    phone     TEXT
);
CREATE TABLE rentals (
    rental_id INTEGER PRIMARY KEY,
    bike_id   INTEGER NOT NULL REFERENCES bikes(bike_id),
    renter_id INTEGER NOT NULL REFERENCES renters(renter_id),
    start_day DATE NOT NULL,
    days      INTEGER NOT NULL,
    paid      REAL
);
INSERT INTO bikes VALUES (1,'Cruiser',52,12.5,0),(2,'Mountain Goat',48,18,0),(3,'City Spark',54,25,1),(4,'Trail King',50,20,0),(5,'Volt Runner',56,30,1),(6,'Old Faithful',52,9,0);
INSERT INTO renters VALUES (1,'Tilda Moss','Brookfield','555-0101'),(2,'Arno Pfeil','Kessel',NULL),(3,'Jun Watari','Brookfield','555-0188'),(4,'Petra Holm','Linden',NULL);
INSERT INTO rentals VALUES (1,1,1,'2022-05-01',2,25),(2,3,1,'2022-05-14',1,25),(3,2,2,'2022-06-02',3,54),(4,5,3,'2022-06-20',2,60),(5,3,3,'2023-04-11',4,100),(6,1,2,'2023-05-05',1,12.5),(7,4,1,'2023-07-09',5,NULL);
