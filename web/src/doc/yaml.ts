import {isAlias, isCollection, isMap, isPair, isScalar, isSeq, type Node, parseDocument} from 'yaml'
import type {Path, Range} from './tree.ts'

type Doc = ReturnType<typeof parseDocument>

// YAMLRanges finds the places of values in a YAML text. Values that are there by an alias are at what the alias names.
export class YAMLRanges {
  readonly #doc: Doc

  constructor(text: string) {
    this.#doc = parseDocument(text, {keepSourceTokens: false, strict: false, uniqueKeys: false, logLevel: 'silent', merge: true})
  }

  // range gives the place of the value at a path; null where there is none.
  range(path: Path): Range | null {
    let at: unknown = this.#doc.contents
    for (const step of path) {
      const on = this.#resolved(at)
      if (typeof step === 'number') at = isSeq(on) ? on.items[step] : undefined
      else at = isMap(on) ? on.items.find(p => keyText(p.key) === step)?.value : undefined
      if (at === undefined || at === null) return null
    }
    return rangeOf(at as Node)
  }

  // path gives the path of the innermost value that an offset is in or at the edge of; of a key, that of its value.
  path(offset: number): Path {
    const path: (string | number)[] = []
    const inside = (n: unknown): boolean => {
      const r = rangeOf(n as Node | null)
      return r !== null && offset >= r.from && offset <= r.to
    }
    let at: unknown = this.#doc.contents
    for (;;) {
      if (isSeq(at)) {
        const i = at.items.findIndex(inside)
        if (i < 0) return path
        path.push(i)
        at = at.items[i]
      } else if (isMap(at)) {
        const pair = at.items.find(p => inside(p.key) || inside(p.value))
        if (!pair) return path
        path.push(keyText(pair.key))
        if (!inside(pair.value)) return path
        at = pair.value
      } else return path
    }
  }

  #resolved(n: unknown): unknown {
    const seen = new Set<unknown>()
    let at = n
    while (isAlias(at) && !seen.has(at)) {
      seen.add(at)
      at = at.resolve(this.#doc)
    }
    return at
  }
}

// keyText gives a key as Hocket reads it: the text of the document, so that on: and true: are texts.
const keyText = (key: unknown): string => (isScalar(key) ? (key.source ?? String(key.value)) : isCollection(key) || isPair(key) ? '' : String(key))

function rangeOf(n: Node | null | undefined): Range | null {
  const r = n?.range
  return r ? {from: r[0], to: r[1]} : null
}
