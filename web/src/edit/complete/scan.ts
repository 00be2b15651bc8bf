import {deepest, type Node, nodeOf} from './tree.ts'

const isSpace = (c: string | undefined): boolean => c === ' ' || c === '\t' || c === '\r'
const isEnd = (c: string | undefined): boolean => c === undefined || c === '\n'

// Scanner reads values in braces, brackets and quotes, as in JSON and within a line of YAML. It
// accepts any text, and returns what it understands.
export class Scanner {
  pos = 0
  #depth = 0

  constructor(
    readonly text: string,
    readonly json: boolean,
  ) {}

  at(n = 0): string | undefined {
    return this.text[this.pos + n]
  }

  // blanks skips white space on the line.
  blanks(): void {
    while (isSpace(this.at())) this.pos++
  }

  // atEnd reports whether only a comment follows on the line.
  atEnd(): boolean {
    return (
      isEnd(this.at()) || (!this.json && this.at() === '#' && (this.pos === 0 || /\s/.test(this.text[this.pos - 1]!)))
    )
  }

  nextLine(): void {
    const end = this.text.indexOf('\n', this.pos)
    this.pos = end < 0 ? this.text.length : end + 1
  }

  column(pos = this.pos): number {
    return pos - (this.text.lastIndexOf('\n', pos - 1) + 1)
  }

  // value reads a value. Lines that are indented by less than least do not belong to it, so that an
  // unclosed value ends there.
  value(least: number): Node {
    this.#props()
    const c = this.at()
    if (c !== '{' && c !== '[') return this.scalar(least)
    if (++this.#depth > deepest) {
      this.pos = this.text.length
      return nodeOf('none', this.pos)
    }
    const node = c === '{' ? this.#map(least) : this.#list(least)
    this.#depth--
    return node
  }

  // scalar reads a string with or without quotes.
  scalar(least: number): Node {
    const c = this.at()
    if (c === '"' || (c === "'" && !this.json)) return this.#quoted(c, least)
    const node = nodeOf('text', this.pos)
    while (!this.#plainEnds()) this.pos++
    node.to = this.pos
    while (node.to > node.from && isSpace(this.text[node.to - 1])) node.to--
    node.text = this.text.slice(node.from, node.to)
    return node
  }

  #plainEnds(): boolean {
    const c = this.at()
    if (c === undefined || c === '\n' || ',{}[]'.includes(c)) return true
    if (this.json) return isSpace(c) || c === ':' || c === '"'
    if (c === ':') return this.#colon()
    return c === '#' && this.atEnd()
  }

  // #colon reports whether there is a colon here that ends a key.
  #colon(): boolean {
    if (this.at() !== ':') return false
    const after = this.at(1)
    return this.json || isEnd(after) || isSpace(after) || ',{}[]"\''.includes(after!)
  }

  // #props skips anchors and tags.
  #props(): void {
    if (this.json) return
    while (this.at() === '&' || this.at() === '!') {
      while (!isEnd(this.at()) && !isSpace(this.at()) && !',{}[]'.includes(this.at()!)) this.pos++
      this.blanks()
    }
  }

  #quoted(quote: '"' | "'", least: number): Node {
    const node = {...nodeOf('text', this.pos), quote}
    this.pos++
    for (;;) {
      const c = this.at()
      if (c === undefined) break
      if (c === '\n') {
        // A JSON string ends with its line; a YAML string continues in indented lines.
        const line = this.json ? -1 : this.#goesOn(least)
        if (line < 0) break
        this.pos = line
        continue
      } else if (c === quote) {
        if (quote === '"' || this.at(1) !== "'") break
        this.pos++
      } else if (c === '\\' && quote === '"' && this.at(1) !== '\n') this.pos++
      if (this.pos < this.text.length) this.pos++
    }
    const inner = this.text.slice(node.from + 1, this.pos)
    node.text = quote === '"' ? unquote(inner) : inner.replaceAll("''", "'")
    if (this.at() === quote) this.pos++
    node.to = this.pos
    return node
  }

  // #goesOn returns the start of the next non-empty line, after its blanks, or -1 if it is not
  // indented enough.
  #goesOn(least: number): number {
    let at = this.pos + 1
    for (;;) {
      const line = at
      while (isSpace(this.text[at])) at++
      const c = this.text[at]
      if (c !== '\n') return c !== undefined && at - line >= least ? at : -1
      at++
    }
  }

  // #ended skips white space, lines and comments, and reports whether the value ends there, closed
  // or not.
  #ended(least: number): boolean {
    for (;;) {
      this.blanks()
      const c = this.at()
      if (c === undefined) return true
      if (!this.json && c === '#' && this.atEnd()) {
        while (!isEnd(this.at())) this.pos++
        continue
      }
      if (c !== '\n') return false
      const line = this.pos + 1
      let at = line
      while (isSpace(this.text[at])) at++
      const first = this.text[at]
      if (first === undefined) {
        this.pos = at
        return true
      }
      if (first !== '\n' && at - line < least && first !== '}' && first !== ']') return true
      this.pos = line
    }
  }

  #map(least: number): Node {
    const node = nodeOf('map', this.pos++)
    while (!this.#ended(least)) {
      const c = this.at()!
      if (c === ']') break
      if (c === '}' || c === ',') {
        this.pos++
        if (c === '}') break
        continue
      }
      this.#entry(node, c === '{' || c === '[' ? this.value(least) : this.#key(least), least)
    }
    node.to = this.pos
    return node
  }

  #key(least: number): Node {
    const key = this.scalar(least)
    if (key.to === key.from && this.at() !== ':') this.pos++
    return key
  }

  // #entry reads the text after a key. A string followed by a colon in the position of a value is
  // the next key.
  #entry(node: Node, first: Node, least: number): void {
    let key = first
    for (;;) {
      this.blanks()
      const entry = {key, colon: this.#colonAfter(key), value: nodeOf('none', this.pos)}
      if (key.kind === 'text') node.entries.push(entry)
      if (!entry.colon) return
      this.pos++
      entry.value = nodeOf('none', this.pos)
      if (this.#ended(least) || ',}]'.includes(this.at()!)) return
      const value = this.value(least)
      if (value.to === value.from && this.at() === ':') this.pos++
      this.blanks()
      if (value.kind !== 'text' || value.to === value.from || !this.#colonAfter(value)) {
        entry.value = value
        return
      }
      key = value
    }
  }

  #colonAfter(key: Node): boolean {
    return this.at() === ':' && (key.quote !== '' || this.#colon())
  }

  #list(least: number): Node {
    const node = nodeOf('list', this.pos++)
    while (!this.#ended(least)) {
      const c = this.at()!
      if (c === '}') break
      if (c === ']' || c === ',') {
        this.pos++
        if (c === ']') break
        continue
      }
      const item = this.value(least)
      if (item.to > item.from) node.items.push(item)
      else if (this.at() === ':') this.pos++
    }
    node.to = this.pos
    return node
  }
}

function unquote(inner: string): string {
  if (!inner.includes('\\')) return inner
  try {
    return JSON.parse(`"${inner}"`) as string
  } catch {
    return inner
  }
}
