// Node is a value of a document that may be incomplete. Offsets refer to the text.
export type Node = {
  // none is a value that is not written yet: after a colon, a dash, or in an empty document.
  kind: 'map' | 'list' | 'text' | 'none'
  from: number
  to: number
  // column is the column of the keys or dashes of a block map or list; -1 means that it is in
  // braces or brackets.
  column: number
  entries: Entry[]
  items: Node[]
  // text is the decoded value of a string; quote is what it starts with: '|' is a block string.
  text: string
  quote: '' | '"' | "'" | '|'
  // own means that an unquoted string is the first text of its line or of its item, and may become
  // the key of a map.
  own: boolean
  // marked means that the cursor is in the string, so it may be incomplete.
  marked: boolean
}

// Entry is a key of a map with its value. Without a colon it is incomplete.
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

// deepest limits the depth to which values are read; deeper values are skipped.
export const deepest = 200

// valueOf returns the value of a key, or null if the map has no such key.
export const valueOf = (map: Node, key: string): Node | null => map.entries.find(e => e.key.text === key)?.value ?? null

// textOf returns the string value of a key, or '' if it has none or an incomplete one.
export const textOf = (map: Node, key: string): string => {
  const v = valueOf(map, key)
  return v?.kind === 'text' && !v.marked ? v.text : ''
}
