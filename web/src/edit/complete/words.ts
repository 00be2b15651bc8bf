import {within} from '../../lib/json_schema.ts'

type Word = {name: string; doc: string}

// Call is a function of expressions. form is how it is called, of x; of and gives are the JSON types that x may have and that come out, any where they are missing.
export type Call = Word & {form: string; of?: readonly string[]; gives?: readonly string[]}

// Words are the words of expressions. Fields stand behind the id of a step, variables behind a dollar sign, and tokens have their braces.
export type Words = {
  fields: readonly Word[]
  variables: readonly Word[]
  tokens: readonly Word[]
  functions: readonly Call[]
}

const none: Words = {fields: [], variables: [], tokens: [], functions: []}

// wordsOf gives the words that the published schema of a format has; none without expressions.
export const wordsOf = (schema: unknown): Words => (within(schema, 'x-words') as Words | undefined) ?? none
