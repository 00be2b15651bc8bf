import type {Node} from './tree.ts'

// Style describes how a JSON text is formatted; additions use the same style.
export type Style = {
  unit: string // one level of indentation
  eol: string
  colon: string // the text between a colon and its value
  comma: string // the text between a comma and the next token on the line
  short: boolean // whether short objects and lists are on one line
}

// Raw is the text of a value that is copied as it is, with the digits of its numbers and its
// escapes.
export class Raw {
  constructor(readonly text: string) {}
}

// longest limits the text that is written on one line, in UTF-16 code units.
const longest = 100

// styleOf detects the style of a text from its beginning.
export function styleOf(text: string, root: Node): Style {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const style: Style = {unit: '  ', eol, colon: ' ', comma: ' ', short: !text.trim().includes('\n')}
  let left = 400
  let colon = false
  let comma = false
  let unit = false
  const walk = (n: Node) => {
    const children = n.children ?? []
    if (left-- < 0) return
    if (n.type === 'property') {
      const value = children[1]
      if (value && n.colonOffset !== undefined && !colon) {
        const between = text.slice(n.colonOffset + 1, value.offset)
        colon = true
        style.colon = /^[ \t]*$/.test(between) ? between : ' '
      }
    } else if (children.length > 0) {
      const inside = text.slice(n.offset, n.offset + n.length)
      if (!inside.includes('\n')) {
        if (n !== root && inside.length <= longest) style.short = true
      } else if (!unit) {
        const lead = lineIndent(text, children[0]!.offset)
        const own = lineIndent(text, n.offset)
        if (
          text.slice(n.offset, children[0]!.offset).includes('\n') &&
          lead.startsWith(own) &&
          lead.length > own.length
        ) {
          unit = true
          style.unit = lead.slice(own.length)
        }
      }
      if (children.length > 1 && !comma) {
        const between = text.slice(children[0]!.offset + children[0]!.length, children[1]!.offset)
        const m = /^\s*,([ \t]*)$/.exec(between)
        if (m) {
          comma = true
          style.comma = m[1]!
        }
      }
    }
    for (const c of children) walk(c)
  }
  walk(root)
  if (!comma && colon) style.comma = style.colon
  return style
}

// lineIndent returns the white space at the beginning of the line with an offset.
export function lineIndent(text: string, offset: number): string {
  const from = text.lastIndexOf('\n', offset - 1) + 1
  return /^[ \t]*/.exec(text.slice(from, offset))![0]
}

// write returns the text of a value. indent is the white space of the line on which it starts; if
// line is set, it is written on one line.
export function write(v: unknown, style: Style, indent: string, line: boolean): string {
  if (v instanceof Raw) return v.text
  const flat = oneLine(v, style)
  if (line || v === null || typeof v !== 'object' || (style.short && flat.length <= longest)) return flat
  const inner = indent + style.unit
  const parts = Array.isArray(v)
    ? v.map(x => write(x, style, inner, false))
    : entries(v).map(([k, x]) => `${JSON.stringify(k)}:${style.colon}${write(x, style, inner, false)}`)
  if (parts.length === 0) return flat
  const [open, close] = Array.isArray(v) ? '[]' : '{}'
  return `${open}${style.eol}${parts.map(p => inner + p).join(`,${style.eol}`)}${style.eol}${indent}${close}`
}

function oneLine(v: unknown, style: Style): string {
  if (v instanceof Raw) return v.text
  if (v === null || typeof v !== 'object') return JSON.stringify(v) ?? 'null'
  if (Array.isArray(v)) return `[${v.map(x => oneLine(x, style)).join(`,${style.comma}`)}]`
  return `{${entries(v)
    .map(([k, x]) => `${JSON.stringify(k)}:${style.colon}${oneLine(x, style)}`)
    .join(`,${style.comma}`)}}`
}

const entries = (v: object): [string, unknown][] => Object.entries(v).filter(([, x]) => x !== undefined)
