import {parse, stringify} from '../lib/exact.ts'
import {isRecord} from '../lib/record.ts'
import {changesOf, type Problem, problemsOf} from '../lib/schema_check.ts'
import {fieldsOf, type Typed, typedOf, valueOf} from '../ui/schema_fields.ts'

// Draft is the input typed in place of the arguments of a held call, as a form or as JSON.
export type Draft = {as: 'form'; typed: Typed} | {as: 'json'; text: string}

export type Read = {value: unknown; problems: Problem[]; changes: string[]}

// readDraft returns the arguments of a draft, their problems, and their changes.
export function readDraft(schema: unknown, held: unknown, draft: Draft): Read {
  let value: unknown
  try {
    value =
      draft.as === 'json' ? parse(draft.text) : {...others(schema, held), ...valueOf(fieldsOf(schema), draft.typed)}
  } catch (err) {
    return {
      value: undefined,
      problems: [{pointer: '', message: draft.as === 'json' ? 'this is not JSON' : String((err as Error).message)}],
      changes: [],
    }
  }
  return {value, problems: problemsOf(schema, value), changes: changesOf(held, value)}
}

// others returns the arguments that have no field: they are kept unchanged.
function others(schema: unknown, held: unknown): Record<string, unknown> {
  const known = new Set(fieldsOf(schema).map(f => f.name))
  return Object.fromEntries(Object.entries((held ?? {}) as object).filter(([k]) => !known.has(k)))
}

// draftOf starts with the held arguments: as a form if there is a field for each of them, else as
// JSON.
export function draftOf(schema: unknown, held: unknown, as: Draft['as'] = 'form'): Draft {
  const fields = fieldsOf(schema)
  const typed = isRecord(held) && fields.length > 0 ? typedOf(fields, held) : null
  return as === 'form' && typed ? {as, typed} : {as: 'json', text: stringify(held, 2) ?? ''}
}
