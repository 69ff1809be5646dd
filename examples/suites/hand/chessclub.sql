CREATE TABLE `members` (`member_no` INTEGER PRIMARY KEY, `surname` TEXT, `first_name` TEXT, `elo` INTEGER, `country_code` TEXT, `birth_date` TEXT);
CREATE TABLE `tournaments` (`code` TEXT PRIMARY KEY, `title` TEXT, `held_in` TEXT, `year` INTEGER, `prize_fund` INTEGER);
CREATE TABLE `results` (`member_no` INTEGER, `code` TEXT, `place` INTEGER, `points` REAL, PRIMARY KEY (`member_no`,`code`), FOREIGN KEY (`member_no`) REFERENCES `members`(`member_no`), FOREIGN KEY (`code`) REFERENCES `tournaments`(`code`));
INSERT INTO members VALUES (1,'Sokolov','Anton',2480,'RU','1979-04-12'),(2,'Ferreira','Lia',2210,'PT','1995-10-02'),(3,'Okada','Ken',2365,'JP','1988-01-27'),(4,'Berger','Ulla',1990,'DE','2003-06-30'),(5,'Marsh','Tom',2100,'GB','1968-12-05'),(6,'Silveira','Rui',2310,'PT','1991-03-16');
INSERT INTO tournaments VALUES ('SPR21','Spring Open','Porto',2021,3000),('CUP21','City Cup','Bremen',2021,1200),('SPR22','Spring Open','Porto',2022,3500),('BLZ22','Blitz Night','Leeds',2022,500);
INSERT INTO results VALUES (1,'SPR21',1,7.5),(2,'SPR21',3,6),(3,'SPR21',2,7),(4,'CUP21',1,5.5),(5,'CUP21',2,5),(1,'SPR22',2,6.5),(6,'SPR22',1,7),(3,'BLZ22',1,9);
