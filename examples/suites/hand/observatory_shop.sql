CREATE TABLE item (
  sku TEXT PRIMARY KEY,
  description TEXT,
  price_eur NUMERIC,
  stock_qty INTEGER,
  dept TEXT
);
CREATE TABLE sale (
  sale_no INTEGER PRIMARY KEY,
  sold_on DATE,
  sku TEXT REFERENCES item(sku),
  qty INTEGER,
  clerk TEXT
);
INSERT INTO item VALUES ('A100','Star map',4.5,120,'paper'),('A200','Moon globe',39,8,'models'),('A300','Planet mug',11,44,'kitchen'),('A400','Comet poster',9,0,'paper'),('A500','Mars puzzle',18.5,15,'toys');
INSERT INTO sale VALUES (1,'2023-01-05','A100',3,'Ines'),(2,'2023-01-06','A300',2,'Rolf'),(3,'2023-01-06','A200',1,'Ines'),(4,'2023-02-11','A100',10,'Ines'),(5,'2023-02-14','A500',1,'Vera'),(6,'2023-03-01','A300',6,'Rolf');
