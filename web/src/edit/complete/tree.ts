// Node is a value of a document that may be half-written. Offsets are those of the text.
export type Node = {
  // none is what was not written yet: after a colon, a dash, or in an empty document.
  kind: 'map' | 'list' | 'text' | 'none'
  from: number
  to: number
  // column is that of the keys and dashes of a map or a list of lines; -1: it is in braces or brackets.
  column: number
  entries: Entry[]
  items: Node[]
  // text is the value of a text as it is meant; quote is what it begins with: '|' is a text of lines.
  text: string
  quote: '' | '"' | "'" | '|'
  // own: a plain text is the first of its line or of its item, and may become the key of a map.
  own: boolean
  // marked: the cursor is in the text, so that it may not be finished.
  marked: boolean
}

// Entry is a key of a map with its value. Without a colon it is not finished.
export type Entry = {key: Node; colon: boolean; value: Node}

export const nodeOf = (kind: Node['kind'], from: number, column = -1): Node => ({
  kind,
  from,
  to: from,
  column,
  entries: [],
  items: [],
  text: '',
  quote: '',
  own: false,
  marked: false,
})

// deepest bounds how deep values are read; what is deeper is passed over.
export const deepest = 200

// valueOf gives the value of a key; null: the map has no such key.
export const valueOf = (map: Node, key: string): Node | null => map.entries.find(e => e.key.text === key)?.value ?? null

// textOf gives the text of a key's value; '' where it has none, or one that is not finished.
export const textOf = (map: Node, key: string): string => {
  const v = valueOf(map, key)
  return v?.kind === 'text' && !v.marked ? v.text : ''
}
