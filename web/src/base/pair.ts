/** A text in Portuguese and in English. */
export type Pair = readonly [string, string]
