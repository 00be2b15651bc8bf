import type {Language} from '../languages.ts'
import {read} from './lines.ts'
import {type Entry, type Node, textOf} from './tree.ts'

// Step leads from a map or a list to a value in it.
export type Step = {node: Node; to: string | number}

// Place is the key or the value at the cursor, which can be completed.
export type Place = {
  kind: 'key' | 'value'
  root: Node
  // steps lead to the value or, for a key, to its map.
  steps: Step[]
  // node is the map of a key, or the value.
  node: Node
  // own means that a value may also become the first key of a map, at its column.
  own: boolean
  // from is where the typed text starts, within quotes; typed is the text from there to the cursor.
  from: number
  typed: string
  // lead and tail are the numbers of characters before from and after the cursor that belong to it:
  // quotes, and the rest of the word.
  lead: number
  tail: number
  quote: Node['quote']
  // colon means that the key has a colon.
  colon: boolean
  // flow means that it is inside braces or brackets.
  flow: boolean
  column: number
}

// mark is a placeholder for the text at the cursor, so that an empty position is found, too.
const mark = '\ue000'

// placeAt returns the place at an offset, or null if it is not understood.
export function placeAt(text: string, offset: number, language: Language): Place | null {
  const root = read(text.slice(0, offset) + mark + text.slice(offset), language, offset)
  const steps: Step[] = []
  let at = root
  for (;;) {
    if (at.kind === 'map') {
      const entry = at.entries.find(e => has(e.key, offset) || has(e.value, offset))
      if (!entry) return null
      if (has(entry.key, offset)) return keyPlace(text, offset, root, steps, at, entry)
      steps.push({node: at, to: entry.key.text})
      at = entry.value
    } else if (at.kind === 'list') {
      const i = at.items.findIndex(n => has(n, offset))
      if (i < 0) return null
      steps.push({node: at, to: i})
      at = at.items[i]!
    } else if (at.kind === 'text' && has(at, offset)) return valuePlace(text, offset, root, steps, at)
    else return null
  }
}

const has = (n: Node, offset: number): boolean => n.from <= offset && offset < n.to

// shared returns the properties that keys and values have in common. end is where the text at the
// cursor ends, in the text without the mark.
function shared(text: string, offset: number, node: Node) {
  node.marked = true
  node.text = node.text.replace(mark, '')
  const lead = node.quote === '"' || node.quote === "'" ? 1 : 0
  const from = Math.min(node.from + lead, offset)
  const end = node.to - 1
  const rest = text.slice(offset, end)
  const closed = lead > 0 && end > offset && text[end - 1] === node.quote
  const word = /^[^\s,:{}[\]"'#]*/.exec(rest)![0].length
  return {
    from,
    typed: text.slice(from, offset),
    lead: offset > node.from ? lead : 0,
    tail: closed ? rest.length : word,
    quote: node.quote,
  }
}

function keyPlace(text: string, offset: number, root: Node, steps: Step[], map: Node, entry: Entry): Place {
  const flow = map.column < 0
  return {
    kind: 'key',
    root,
    steps,
    node: map,
    own: false,
    colon: entry.colon,
    flow,
    column: map.column,
    ...shared(text, offset, entry.key),
  }
}

function valuePlace(text: string, offset: number, root: Node, steps: Step[], node: Node): Place {
  const parent = steps.at(-1)?.node
  const flow = parent ? parent.column < 0 : node.from > 0
  const column = node.from - (text.lastIndexOf('\n', node.from - 1) + 1)
  return {kind: 'value', root, steps, node, own: node.own, colon: false, flow, column, ...shared(text, offset, node)}
}

// siblingOf returns the string value of another key in the same map, or '' if there is none.
export function siblingOf(p: Place, key: string): string {
  const map = p.steps.at(-1)?.node
  return map?.kind === 'map' ? textOf(map, key) : ''
}
