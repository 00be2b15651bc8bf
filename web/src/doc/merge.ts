import {isRecord} from '../lib/record.ts'
import {Raw} from './style.ts'
import {type Node, type Path, parse, TextError} from './tree.ts'

// Merge is what makes a value of another: each value that differs is set, added or taken away, the inner ones alone where they suffice.
export type Merge = {
  set: [Path, unknown][]
  remove: Path[]
  add: [Path, unknown][]
  cut: [Path, number[]][] // items of a list
  insert: [Path, number, unknown[]][] // before the item of an index
}

// mergeOf compares the value of a node with the one that it is to be. path is that of the node. What is equal has no part in it, so that its text stays as it is.
// Errors: TextError where a key is there more than once.
export function mergeOf(text: string, node: Node, value: unknown, path: Path): Merge {
  const out: Merge = {set: [], remove: [], add: [], cut: [], insert: []}
  const walk = (n: Node, v: unknown, at: Path) => {
    if (n.type === 'object' && isRecord(v) && !(v instanceof Raw)) {
      const own = membersOf(n)
      const all = new Map(Object.entries(v))
      if (inOrder(own, all)) {
        for (const [key, x] of own) {
          if (all.has(key)) walk(x, all.get(key), [...at, key])
          else out.remove.push([...at, key])
        }
        for (const [key, x] of all) if (!own.has(key)) out.add.push([[...at, key], x])
        return
      }
    } else if (n.type === 'array' && Array.isArray(v)) {
      const own = n.children ?? []
      if (own.length === v.length) {
        for (const [i, x] of v.entries()) walk(own[i]!, x, [...at, i])
        return
      }
      // Items that came or went in one place leave the others as they are.
      const least = Math.min(own.length, v.length)
      let head = 0
      while (head < least && equal(text, own[head]!, v[head])) head++
      let tail = 0
      while (tail < least - head && equal(text, own.at(-1 - tail)!, v.at(-1 - tail))) tail++
      if (head + tail === least) {
        if (own.length < v.length) out.insert.push([at, head, v.slice(head, v.length - tail)])
        else out.cut.push([at, own.slice(head, own.length - tail).map((_, i) => head + i)])
        return
      }
    } else if (same(text, n, v)) return
    out.set.push([at, v])
  }
  walk(node, value, path)
  return out
}

const equal = (text: string, n: Node, v: unknown): boolean =>
  Object.values(mergeOf(text, n, v, [])).every(list => list.length === 0)

// same tells whether the text of a node that has no inner ones means a value. A number of a Raw is the same where its digits are.
const same = (text: string, n: Node, v: unknown): boolean =>
  n.children === undefined && (v instanceof Raw ? text.slice(n.offset, n.offset + n.length) === v.text : v === n.value)

const keyOf = (p: Node): string => String(p.children?.[0]?.value)

function membersOf(n: Node): Map<string, Node> {
  const out = new Map<string, Node>()
  for (const p of n.children ?? []) {
    const key = keyOf(p)
    if (out.has(key)) throw new TextError(`the key "${key}" is there more than once`, p.offset)
    out.set(key, p.children![1]!)
  }
  return out
}

// inOrder tells whether the old keys that stay have their order, with the new ones behind them: another order is written anew. Keys that are indices have no order in JavaScript.
function inOrder(own: ReadonlyMap<string, Node>, all: ReadonlyMap<string, unknown>): boolean {
  const named = (keys: Iterable<string>) => [...keys].filter(k => !/^\d+$/.test(k))
  const old = named(own.keys()).filter(k => all.has(k))
  const now = named(all.keys())
  return old.every((k, i) => now[i] === k)
}

// exactly reads JSON as a value whose numbers keep the digits that they are written with. Errors: TextError, also for a key that is there twice, a comment and a trailing comma.
export function exactly(text: string): unknown {
  const root = parse(text)
  try {
    JSON.parse(text.replace(/^\ufeff/, ''))
  } catch {
    throw new TextError('comments and trailing commas have no place here', root.offset)
  }
  const value = (n: Node): unknown => {
    if (n.type === 'number') return new Raw(text.slice(n.offset, n.offset + n.length))
    if (n.type === 'array') return (n.children ?? []).map(value)
    if (n.type !== 'object') return n.value
    const out = {}
    for (const p of n.children ?? []) {
      const key = keyOf(p)
      if (Object.hasOwn(out, key)) throw new TextError(`the key "${key}" is there more than once`, p.offset)
      Object.defineProperty(out, key, {
        value: value(p.children![1]!),
        enumerable: true,
        configurable: true,
        writable: true,
      })
    }
    return out
  }
  return value(root)
}

// deepest bounds how deep a value is laid out; what is deeper stays on its line.
const deepest = 60

// laidOut gives the text of a value with each item on its own line. Its numbers and texts are written as they are there.
export function laidOut(text: string, n: Node, depth = 0): string {
  const children = n.children ?? []
  if (children.length === 0 || depth >= deepest) return text.slice(n.offset, n.offset + n.length)
  const pad = '  '.repeat(depth + 1)
  const [open, close] = n.type === 'array' ? '[]' : '{}'
  const items = children.map(c => {
    const [key, value] = n.type === 'object' ? (c.children ?? []) : [null, c]
    return `${pad}${key ? `${text.slice(key.offset, key.offset + key.length)}: ` : ''}${value ? laidOut(text, value, depth + 1) : ''}`
  })
  return `${open}\n${items.join(',\n')}\n${'  '.repeat(depth)}${close}`
}
