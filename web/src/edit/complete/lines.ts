import {Scanner} from './scan.ts'
import {deepest, type Node, nodeOf} from './tree.ts'

// read parses a text as far as it can be understood. If there are several YAML documents, it
// returns the one that contains an offset.
export function read(text: string, language: 'json' | 'yaml', offset: number): Node {
  if (language === 'yaml') return new Lines(text, offset).root()
  const s = new Scanner(text, true)
  while (/[\s\ufeff]/.test(s.at() ?? '')) s.pos++
  return s.value(0)
}

// Lines parses YAML line by line: a line belongs where its indentation says, whatever is wrong with
// the lines before it.
class Lines {
  readonly #s: Scanner
  // #open are the maps and lists that the next line may belong to; the first one holds the
  // document.
  #open: Node[] = []

  constructor(
    text: string,
    readonly offset: number,
  ) {
    this.#s = new Scanner(text, false)
    if (text.startsWith('\ufeff')) this.#s.pos = 1
  }

  root(): Node {
    const s = this.#s
    this.#begin()
    while (s.pos < s.text.length) {
      const line = s.pos
      s.blanks()
      if (s.column() === 0 && /^(---|\.\.\.)\s/.test(s.text.slice(s.pos, s.pos + 4))) {
        if (line > this.offset) break
        this.#begin()
        s.nextLine()
      } else if (s.atEnd() || (s.at() === '%' && s.column() === 0)) s.nextLine()
      else this.#line()
    }
    this.#close(0)
    return this.#open[0]!.items[0]!
  }

  #begin(): void {
    const holder = nodeOf('list', this.#s.pos, -1)
    holder.items.push(nodeOf('none', this.#s.pos))
    this.#open = [holder]
  }

  // #close ends the open maps and lists from an index on.
  #close(from: number): void {
    for (const node of this.#open.slice(from)) node.to = this.#s.pos
    this.#open.length = Math.max(from, 1)
  }

  #top(): Node {
    return this.#open.at(-1)!
  }

  // #last returns the value of the innermost map or list that the next value may replace.
  #last(): Node {
    const top = this.#top()
    return top.kind === 'map' ? top.entries.at(-1)!.value : top.items.at(-1)!
  }

  #put(node: Node): void {
    const top = this.#top()
    if (top.kind === 'map') top.entries.at(-1)!.value = node
    else top.items[top.items.length - 1] = node
  }

  // #waits reports whether a value is missing that may start at a column.
  #waits(column: number, dash: boolean): boolean {
    const top = this.#top()
    if (this.#last().kind !== 'none' || this.#open.length > deepest) return false
    return column > top.column || (dash && top.kind === 'map' && column === top.column)
  }

  #push(node: Node): void {
    this.#put(node)
    this.#open.push(node)
  }

  #line(): void {
    const s = this.#s
    for (;;) {
      const column = s.column()
      const dash = s.at() === '-' && (s.at(1) === undefined || /\s/.test(s.at(1)!))
      let keep = this.#open.length
      while (
        keep > 1 &&
        (this.#open[keep - 1]!.column > column ||
          (!dash && this.#open[keep - 1]!.kind === 'list' && this.#open[keep - 1]!.column === column))
      )
        keep--
      this.#close(keep)
      if (!dash) return this.#content(column)
      const top = this.#top()
      if (top.kind !== 'list' || top.column !== column) {
        if (!this.#waits(column, true)) return s.nextLine()
        this.#push(nodeOf('list', s.pos, column))
      }
      s.pos++
      s.blanks()
      this.#top().items.push(nodeOf('none', s.pos))
      if (s.atEnd()) return s.nextLine()
    }
  }

  #content(column: number): void {
    const s = this.#s
    while (s.at() === '&' || s.at() === '!') {
      while (s.at() !== undefined && !/\s/.test(s.at()!)) s.pos++
      s.blanks()
      if (s.atEnd()) return s.nextLine()
    }
    const key = this.#key()
    const top = this.#top()
    const sibling = top.kind === 'map' && top.column === column
    if (key) {
      if (!sibling) {
        if (!this.#waits(column, false)) return s.nextLine()
        this.#push(nodeOf('map', key.from, column))
      }
      const entry = {key, colon: true, value: nodeOf('none', s.pos)}
      this.#top().entries.push(entry)
      s.blanks()
      entry.value = this.#inline(column)
      return this.#finish(entry.value)
    }
    if (sibling) {
      const unfinished = this.#plain()
      if (unfinished.kind === 'text') top.entries.push({key: unfinished, colon: false, value: nodeOf('none', s.pos)})
    } else if (this.#waits(column, false)) {
      const value = this.#inline(top.column)
      value.own = value.kind === 'text' && value.quote !== '|'
      this.#put(value)
      return this.#finish(value)
    }
    s.nextLine()
  }

  // #finish continues with the line after a value.
  #finish(value: Node): void {
    if (value.quote === '|') this.#s.pos = value.to
    else this.#s.nextLine()
  }

  // #key reads a key and its colon. It returns null, and reads nothing, if the line has no key.
  #key(): Node | null {
    const s = this.#s
    const begin = s.pos
    const c = s.at()!
    if (c === '"' || c === "'") {
      const key = s.scalar(Number.POSITIVE_INFINITY)
      s.blanks()
      if (s.at() === ':' && /^(\s|$)/.test(s.at(1) ?? '')) {
        s.pos++
        return key
      }
      s.pos = begin
      return null
    }
    if ('{}[],|>@%`#'.includes(c)) return null
    const end = s.text.indexOf('\n', begin)
    const line = s.text.slice(begin, end < 0 ? undefined : end)
    const m = /:(?=\s|$)|\s#/.exec(line)
    if (m?.[0] !== ':') return null
    const key = nodeOf('text', begin)
    key.text = line.slice(0, m.index).trimEnd()
    key.to = begin + key.text.length
    s.pos = begin + m.index + 1
    return key
  }

  // #inline reads the value in the rest of a line, including its continuation lines.
  #inline(column: number): Node {
    const s = this.#s
    while (s.at() === '&' || s.at() === '!') {
      while (s.at() !== undefined && !/\s/.test(s.at()!)) s.pos++
      s.blanks()
    }
    const c = s.at()
    if (s.atEnd()) return nodeOf('none', s.pos)
    if (c === '|' || c === '>') return this.#block(column)
    if (c === '{' || c === '[') return s.value(column + 1)
    if (c === '"' || c === "'") return s.scalar(column + 1)
    return this.#plain()
  }

  // #plain reads an unquoted string to the end of its line.
  #plain(): Node {
    const s = this.#s
    const end = s.text.indexOf('\n', s.pos)
    const line = s.text.slice(s.pos, end < 0 ? undefined : end)
    const node = nodeOf('text', s.pos)
    node.text = line.slice(0, /\s#/.exec(line)?.index).trimEnd()
    node.to = s.pos + node.text.length
    s.pos = node.to
    return node
  }

  // #block reads a block string: all lines that are indented deeper.
  #block(column: number): Node {
    const s = this.#s
    const node = {...nodeOf('text', s.pos), quote: '|' as const}
    s.nextLine()
    const begin = s.pos
    while (s.pos < s.text.length) {
      const line = s.pos
      s.blanks()
      const blank = s.at() === '\n' || s.at() === undefined
      if (!blank && s.column() <= column) {
        s.pos = line
        break
      }
      s.nextLine()
    }
    node.text = s.text.slice(begin, s.pos)
    node.to = s.pos
    return node
  }
}
