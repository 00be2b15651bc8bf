import {isRecord} from '../lib/record.ts'
import {Raw} from './style.ts'
import {type Node, type Path, parse, TextError} from './tree.ts'

// Merge lists the changes that turn one value into another: each value that differs is set, added
// or removed, and only the inner ones if they suffice.
export type Merge = {
  set: [Path, unknown][]
  remove: Path[]
  add: [Path, unknown][]
  cut: [Path, number[]][] // items of a list
  insert: [Path, number, unknown[]][] // before the item with an index
}

// mergeOf compares the value of a node with the target value. path is the path of the node. Equal
// parts are left out, so their text stays unchanged. It throws TextError if a key occurs more than
// once.
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
      // Items that were inserted or removed in one position leave the others unchanged.
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

// same reports whether the text of a node without children means a value. A number equals a Raw if
// its digits are the same.
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

// inOrder reports whether the remaining old keys keep their order, with the new keys after them;
// otherwise the object is written again. Keys that are indices have no order in JavaScript.
function inOrder(own: ReadonlyMap<string, Node>, all: ReadonlyMap<string, unknown>): boolean {
  const named = (keys: Iterable<string>) => [...keys].filter(k => !/^\d+$/.test(k))
  const old = named(own.keys()).filter(k => all.has(k))
  const now = named(all.keys())
  return old.every((k, i) => now[i] === k)
}

// exactly parses JSON to a value whose numbers keep the digits they are written with. It throws
// TextError, also for a duplicate key, a comment or a trailing comma.
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

// deepest limits the depth to which a value is laid out; deeper values stay on their line.
const deepest = 60

// laidOut returns the text of a value with each item on its own line. Its numbers and strings are
// copied as written.
export function laidOut(text: string, n: Node, depth = 0): string {
  const children = n.children ?? []
  if (children.length === 0 || depth >= deepest) return text.slice(n.offset, n.offset + n.length)
  const pad = '  '.repeat(depth + 1)
  const [open, close] = n.type === 'array' ? '[]' : '{}'
  const items = children.map(c => {
    const [key, value] = n.type === 'object' ? (c.children ?? []) : [null, c]
    const label = key ? `${text.slice(key.offset, key.offset + key.length)}: ` : ''
    return `${pad}${label}${value ? laidOut(text, value, depth + 1) : ''}`
  })
  return `${open}\n${items.join(',\n')}\n${'  '.repeat(depth)}${close}`
}
