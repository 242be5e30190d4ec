/** A choice of a parser as the value of a field. */

export const BUILT_IN = "built_in";
export const OWN_STRATEGY = "auto";

export interface ParserChoice {
  parser: string;
  strategy: string;
}

/** A choice as the value of a field, and back. */
export function keyOf({ parser, strategy }: ParserChoice): string {
  return parser === BUILT_IN ? BUILT_IN : `${parser} ${strategy}`;
}

export function choiceOf(key: string): ParserChoice {
  const [parser = BUILT_IN, strategy = OWN_STRATEGY] = key.split(" ");
  return { parser, strategy };
}
