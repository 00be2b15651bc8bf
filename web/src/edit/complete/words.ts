import {within} from '../../lib/json_schema.ts'

type Word = {name: string; doc: string}

// Call is a function of expressions. form is how it is called with x; of and gives are the JSON
// types of x and of the result, any if they are missing.
export type Call = Word & {form: string; of?: readonly string[]; gives?: readonly string[]}

// Words are the words of expressions. Fields follow the id of a step, variables follow a dollar
// sign, and tokens include their braces.
export type Words = {
  fields: readonly Word[]
  variables: readonly Word[]
  tokens: readonly Word[]
  functions: readonly Call[]
}

const none: Words = {fields: [], variables: [], tokens: [], functions: []}

// wordsOf returns the words in the published schema of a format; there are none without
// expressions.
export const wordsOf = (schema: unknown): Words => (within(schema, 'x-words') as Words | undefined) ?? none
