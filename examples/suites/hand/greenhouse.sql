CREATE TABLE "plant_species" ("id" INTEGER PRIMARY KEY, "common_name" TEXT, "light_need" TEXT CHECK ("light_need" IN ('low','medium','high')), "water_ml_per_week" INTEGER, "poisonous" INTEGER);
CREATE TABLE "greenhouse" ("id" INTEGER PRIMARY KEY, "label" TEXT, "temperature_c" REAL, "opened_on" TEXT);
CREATE TABLE "pot" ("id" INTEGER PRIMARY KEY, "species_id" INTEGER REFERENCES "plant_species"("id"), "greenhouse_id" INTEGER REFERENCES "greenhouse"("id"), "height_cm" REAL, "planted_on" TEXT);
INSERT INTO plant_species VALUES (1,'Snake Plant','low',150,1),(2,'Basil','high',500,0),(3,'Aloe','high',100,0),(4,'Fern','low',600,0),(5,'Dieffenbachia','medium',350,1);
INSERT INTO greenhouse VALUES (1,'North Wing',18.5,'2015-03-01'),(2,'Palm House',27,'2009-06-15'),(3,'Cactus Corner',31.5,'2018-09-30');
INSERT INTO pot VALUES (1,1,1,45,'2020-02-11'),(2,2,1,22.5,'2023-04-02'),(3,3,3,30,'2019-07-19'),(4,3,3,41,'2021-01-05'),(5,4,2,75,'2018-10-23'),(6,5,2,110.5,'2022-05-14'),(7,2,2,19,'2023-05-20');
