import {type Node, type ParseError, parseTree, printParseErrorCode} from 'jsonc-parser'

// Path leads from the root of a document to a value: keys of objects and indices of arrays.
export type Path = readonly (string | number)[]

// Range is a part of a text, in UTF-16 code units.
export type Range = {from: number; to: number}

export type {Node}

// TextError tells why a text cannot be read or edited as JSON, and where.
export class TextError extends Error {
  constructor(
    message: string,
    readonly offset: number,
  ) {
    super(message)
  }
}

// parse reads JSON; comments and trailing commas are read too, so that they stay where a reader takes them. Errors: TextError.
export function parse(text: string): Node {
  const errors: ParseError[] = []
  let root: Node | undefined
  try {
    // A byte order mark is no white space to the parser; a blank has its length.
    root = parseTree(text.startsWith('\ufeff') ? ` ${text.slice(1)}` : text, errors, {allowTrailingComma: true})
  } catch (err) {
    if (err instanceof RangeError) throw new TextError('the document is nested too deeply', 0)
    throw err
  }
  const first = errors[0]
  if (first) throw new TextError(words(printParseErrorCode(first.error)), first.offset)
  if (!root) throw new TextError('the document is empty', 0)
  return root
}

const words = (code: string): string => code.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase()

// member gives the property of an object, null where it has none. Errors: TextError where the key is there more than once, since readers differ in which one counts.
export function member(object: Node, key: string): Node | null {
  let found: Node | null = null
  for (const p of object.children ?? []) {
    if (p.children?.[0]?.value !== key) continue
    if (found) throw new TextError(`the key "${key}" is there more than once`, p.offset)
    found = p
  }
  return found
}

// find gives the value at a path; null where there is none.
export function find(root: Node, path: Path): Node | null {
  let at: Node | null = root
  for (const step of path) {
    if (!at) return null
    if (typeof step === 'number') at = at.type === 'array' ? (at.children?.[step] ?? null) : null
    else at = at.type === 'object' ? (member(at, step)?.children?.[1] ?? null) : null
  }
  return at
}

export const rangeOf = (n: Node): Range => ({from: n.offset, to: n.offset + n.length})

// valueOf gives the value of a node. A key such as __proto__ is a key like all others.
export function valueOf(n: Node): unknown {
  if (n.type === 'array') return (n.children ?? []).map(valueOf)
  if (n.type !== 'object') return n.value
  const out: Record<string, unknown> = {}
  for (const p of n.children ?? []) {
    const [key, value] = p.children ?? []
    if (!key || !value) continue
    const name = String(key.value)
    if (name === '__proto__')
      Object.defineProperty(out, name, {value: valueOf(value), enumerable: true, configurable: true, writable: true})
    else out[name] = valueOf(value)
  }
  return out
}
