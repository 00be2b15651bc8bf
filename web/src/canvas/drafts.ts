import {exactly, laidOut} from '../doc/merge.ts'
import {Raw} from '../doc/style.ts'
import {parse, TextError} from '../doc/tree.ts'

// Draft is text that was typed into a field and is not a value yet. over is the text of the value
// that it replaces.
export type Draft = {typed: string; over: string}

export type Drafts = Map<string, Draft>

const all = new WeakMap<object, Drafts>()

// draftsOf returns the drafts in the fields of a document, by field name. They are kept while the
// document is open, even if another node or the text is shown.
export function draftsOf(model: object): Drafts {
  const known = all.get(model)
  if (known) return known
  const made: Drafts = new Map()
  all.set(model, made)
  return made
}

// Typed is the meaning of the text in a field: a value, undefined if the field is empty, or the
// reason why it is invalid.
export type Typed = {value: unknown} | {why: string}

export function typedJSON(text: string): Typed {
  if (text.trim() === '') return {value: undefined}
  try {
    return {value: exactly(text)}
  } catch (err) {
    if (err instanceof TextError) return {why: `Not valid JSON: ${err.message}.`}
    throw err
  }
}

const number = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

// typedNumber parses a number and keeps its digits.
export function typedNumber(text: string): Typed {
  const t = text.trim()
  if (t === '') return {value: undefined}
  if (number.test(t)) return {value: new Raw(t)}
  return /^[+-]?[\d.]/.test(t) && Number.isFinite(Number(t)) && !/^[+-]?0[xbo]/i.test(t)
    ? {value: Number(t)}
    : {why: 'Not a number.'}
}

// means reports whether a typed text is the value that a document has, with any spacing.
export function means(typed: string, now: string): boolean {
  if (typed.trim() === now.trim()) return true
  try {
    return laidOut(typed, parse(typed)) === now
  } catch {
    return false
  }
}
