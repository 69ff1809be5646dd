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
 * Questions about a sample to ask with one click, the ones with the longest answer first, which show most; to the
 * built-in model only those that it is tested to answer rightly.
 */
export function exampleQuestions(file: string, builtIn: boolean): string[] {
  const about = questions.filter((each) => `${each.db_id}.sqlite` === file && each.evidence === "");
  const shown = about.filter((each) => each.builtin || !builtIn).sort((a, b) => b.SQL.length - a.SQL.length);
  return shown.slice(0, OFFERED).map((each) => each.question);
}
