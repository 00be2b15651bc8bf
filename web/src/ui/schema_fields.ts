import {parse, stringify} from '../lib/exact.ts'
import {own} from '../lib/own.ts'

// SchemaField is a property of an object's schema as a form shows it.
export type SchemaField = {
  name: string
  title: string
  hint: string
  kind: 'text' | 'long' | 'number' | 'integer' | 'boolean' | 'choice' | 'json'
  choices: unknown[]
  required: boolean
  initial: unknown
  minimum?: number
  maximum?: number
}

type Schema = {
  type?: string | string[]
  title?: string
  description?: string
  enum?: unknown[]
  default?: unknown
  minimum?: number
  maximum?: number
  maxLength?: number
  properties?: Record<string, Schema>
  required?: string[]
}

// fieldsOf returns the fields of a form for a schema; a property without a suitable field is edited
// as JSON.
export function fieldsOf(given: unknown): SchemaField[] {
  const schema = (given ?? {}) as Schema
  return Object.entries(schema.properties ?? {}).map(([name, s]) => {
    const type = Array.isArray(s.type) ? s.type.find(t => t !== 'null') : s.type
    const known = {string: 'text', number: 'number', integer: 'integer', boolean: 'boolean'}[type ?? ''] as
      | SchemaField['kind']
      | undefined
    return {
      name,
      title: s.title || name,
      hint: s.description ?? '',
      kind: s.enum ? 'choice' : type === 'string' && (s.maxLength ?? 0) > 200 ? 'long' : (known ?? 'json'),
      choices: s.enum ?? [],
      required: schema.required?.includes(name) ?? false,
      initial: s.default,
      ...(s.minimum !== undefined ? {minimum: s.minimum} : {}),
      ...(s.maximum !== undefined ? {maximum: s.maximum} : {}),
    }
  })
}

export type Typed = Record<string, string | boolean>

export const initialOf = (fields: SchemaField[]): Typed =>
  Object.fromEntries(
    fields.map(f => [
      f.name,
      f.kind === 'boolean'
        ? f.initial === true
        : f.initial === undefined
          ? ''
          : typeof f.initial === 'string'
            ? f.initial
            : stringify(f.initial),
    ]),
  )

// typedOf returns the field contents for an object, or null if the form cannot show it because a
// value has another type than its field.
export function typedOf(fields: SchemaField[], value: Record<string, unknown>): Typed | null {
  const out: [string, string | boolean][] = []
  for (const f of fields) {
    const v = own(value, f.name)
    const fits =
      v === undefined ||
      {
        text: typeof v === 'string',
        long: typeof v === 'string',
        number: typeof v === 'number',
        integer: typeof v === 'number',
        boolean: typeof v === 'boolean',
        choice: f.choices.includes(v),
        json: true,
      }[f.kind]
    if (!fits) return null
    if (f.kind === 'boolean') out.push([f.name, v === true])
    else out.push([f.name, v === undefined ? '' : f.kind === 'json' ? stringify(v) : String(v)])
  }
  return Object.fromEntries(out)
}

// valueOf returns the object that was typed in. Empty fields that are not required are left out;
// the server checks the rest. It throws the name of a field with invalid JSON.
export function valueOf(fields: SchemaField[], typed: Typed): Record<string, unknown> {
  const out: [string, unknown][] = []
  for (const f of fields) {
    const v = own(typed, f.name)
    if (f.kind === 'boolean') {
      if (v === true || f.required) out.push([f.name, v === true])
      continue
    }
    if (typeof v !== 'string' || (v === '' && !(f.required && f.kind === 'text'))) continue
    if (f.kind === 'number' || f.kind === 'integer') out.push([f.name, /^-?\d{16,}$/.test(v) ? parse(v) : Number(v)])
    else if (f.kind === 'choice') out.push([f.name, f.choices.find(c => String(c) === v)])
    else if (f.kind === 'json') {
      try {
        out.push([f.name, parse(v)])
      } catch {
        throw new Error(`${f.title} is not JSON`)
      }
    } else out.push([f.name, v])
  }
  return Object.fromEntries(out)
}
