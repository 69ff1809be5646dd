import chinook from "../examples/chinook.sqlite?url";
import northwind from "../examples/northwind.sqlite?url";
import questions from "../examples/questions.json";

export interface Sample {
  title: string;
  file: string;
  address: string;
}

export const SAMPLES: Sample[] = [
  { title: "Chinook", file: "chinook.sqlite", address: chinook },
  { title: "Northwind", file: "northwind.sqlite", address: northwind },
];

/** Questions that are offered at a time. */
const OFFERED = 3;

/**
 * Questions about a sample to ask with one click. To the built-in model only such as it is tested to answer rightly,
 * those with the longest answer first: they show most.
 */
export function exampleQuestions(file: string, builtIn: boolean): string[] {
  return questions
    .filter((each) => `${each.db_id}.sqlite` === file && (each.builtin || !builtIn))
    .sort((a, b) => b.SQL.length - a.SQL.length)
    .slice(0, OFFERED)
    .map((each) => each.question);
}
