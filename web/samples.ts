import chinook from "../examples/chinook.sqlite?url";
import northwind from "../examples/northwind.sqlite?url";

export interface Sample {
  title: string;
  file: string;
  address: string;
  /** Questions that can be asked with one click. */
  questions: string[];
}

export const SAMPLES: Sample[] = [
  {
    title: "Chinook",
    file: "chinook.sqlite",
    address: chinook,
    questions: ["List the names of all genres.", "How many albums are there?", "How many customers are from Brazil?"],
  },
  {
    title: "Northwind",
    file: "northwind.sqlite",
    address: northwind,
    questions: ["How many products are there?", "How many customers are from Germany?", "List the names of all categories."],
  },
];
