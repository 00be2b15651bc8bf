import type {Language} from '../languages.ts'
import {type Facts, factsOf} from './facts.ts'
import {read} from './lines.ts'
import type {Vocabulary} from './offers.ts'
import type {Step} from './place.ts'
import {Schemas} from './schema.ts'
import type {Node} from './tree.ts'

// Hover holds the facts of the key at an offset, or of the value there; from and to are its range.
export type Hover = {from: number; to: number; facts: Facts}

const longest = 2_000_000

export function hoverAt(text: string, offset: number, language: Language, known: Vocabulary): Hover | null {
  if (!known.schema || text.length > longest) return null
  const steps: Step[] = []
  let at = read(text, language, offset)
  for (;;) {
    const inside = (n: Node): boolean => n.kind !== 'none' && n.from <= offset && offset < n.to
    if (at.kind === 'list') {
      const i = at.items.findIndex(inside)
      if (i < 0) return null
      steps.push({node: at, to: i})
      at = at.items[i]!
    } else if (at.kind === 'map') {
      const entry = at.entries.find(e => e.colon && (inside(e.key) || inside(e.value)))
      if (!entry) return null
      steps.push({node: at, to: entry.key.text})
      if (inside(entry.key)) return hoverOf(entry.key, steps, entry.value, known)
      at = entry.value
    } else return steps.length > 0 ? hoverOf(at, steps, at, known) : null
  }
}

function hoverOf(shown: Node, steps: Step[], value: Node, known: Vocabulary): Hover | null {
  // A block string is long: the hint above it is about its key.
  if (shown.quote === '|') return null
  const schemas = new Schemas(known.schema!)
  const name = steps.findLast(s => typeof s.to === 'string')
  const shapes = schemas.shapes(steps, value)
  if (shapes.length === 0) return null
  const parent = steps.at(-1)!
  const required =
    typeof parent.to === 'string' &&
    schemas.shapes(steps.slice(0, -1), parent.node).every(s => s.some(x => x.required?.includes(String(parent.to))))
  const facts = factsOf(name ? String(name.to) : '', shapes, required)
  const says = facts.title || facts.about.length > 0 || facts.type || facts.values.length > 0 || facts.preset
  return says ? {from: shown.from, to: shown.to, facts} : null
}
