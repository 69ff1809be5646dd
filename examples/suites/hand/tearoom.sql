CREATE TABLE tbl_tea (tea_id INTEGER PRIMARY KEY, tea_name TEXT, tea_type TEXT, origin TEXT, caffeine_mg INTEGER, price_per_pot REAL);
CREATE TABLE tbl_visit (visit_id INTEGER PRIMARY KEY, guest TEXT, visit_date DATE, party_size INTEGER);
CREATE TABLE tbl_order (order_id INTEGER PRIMARY KEY, visit_id INTEGER, tea_id INTEGER, pots INTEGER, FOREIGN KEY (visit_id) REFERENCES tbl_visit(visit_id), FOREIGN KEY (tea_id) REFERENCES tbl_tea(tea_id));
INSERT INTO tbl_tea VALUES (1,'Dragon Well','green','China',35,6.5),(2,'Assam Gold','black','India',60,5),(3,'Sencha','green','Japan',30,6),(4,'Chamomile','herbal','Egypt',0,4.5),(5,'Earl Grey','black','Sri Lanka',55,5.5);
INSERT INTO tbl_visit VALUES (1,'Mrs Wren','2023-09-01',2),(2,'The Abbotts','2023-09-01',4),(3,'Mr Sloane','2023-09-03',1),(4,'Mrs Wren','2023-09-08',3);
INSERT INTO tbl_order VALUES (1,1,1,1),(2,1,4,1),(3,2,2,2),(4,2,5,1),(5,3,2,1),(6,4,3,2),(7,4,1,1);
