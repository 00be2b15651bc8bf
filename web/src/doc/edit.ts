import {ChangeSet} from '@codemirror/state'
import {mergeOf} from './merge.ts'
import {lineIndent, Raw, type Style, styleOf, write} from './style.ts'
import {find, member, type Node, type Path, parse, TextError} from './tree.ts'

// Change replaces a part of a text. Offsets count UTF-16 code units of the text before the change.
export type Change = {from: number; to: number; insert: string}

export {Raw, TextError}

const mostPasses = 50

// JSONEdit edits the text of a JSON document with minimal changes: everything else stays byte for
// byte, including the order of keys, comments, indentation, digits and unknown keys. Several edits
// result in one list of changes. All methods throw TextError if the text is not JSON or the path
// does not exist; nothing is changed then.
export class JSONEdit {
  #text: string
  #root: Node | null = null
  #style: Style | null = null
  #all: ChangeSet

  constructor(text: string) {
    this.#text = text
    this.#all = ChangeSet.empty(text.length)
  }

  // text is the text after the edits so far.
  get text(): string {
    return this.#text
  }

  get root(): Node {
    this.#root ??= parse(this.#text)
    return this.#root
  }

  // changes returns the changes relative to the original text; they do not overlap.
  changes(): Change[] {
    const out: Change[] = []
    this.#all.iterChanges((from, to, _a, _b, insert) => out.push({from, to, insert: insert.toString()}))
    return out
  }

  // set sets the value at a path. The last key of the path may be new; the parts before it must
  // exist.
  set(path: Path, value: unknown): void {
    const there = find(this.root, path)
    if (there) {
      this.#apply([this.#replace(there, value)])
      return
    }
    const key = path.at(-1)
    const parent = find(this.root, path.slice(0, -1))
    if (typeof key !== 'string' || parent?.type !== 'object') throw missing(path)
    this.#insert(parent, parent.children?.length ?? 0, [value], key)
  }

  // merge sets the value at a path by changing only the differences: equal parts keep their bytes,
  // including the digits of numbers.
  merge(path: Path, value: unknown): void {
    const there = find(this.root, path)
    if (!there) {
      this.set(path, value)
      return
    }
    const {set, remove, add, cut, insert} = mergeOf(this.#text, there, value, path)
    // Each addition or removal is a pass over the text.
    if (remove.length + add.length + cut.length + insert.length > mostPasses) {
      this.set(path, value)
      return
    }
    this.setAll(set)
    for (const p of remove) this.remove(p)
    for (const [p, v] of add) this.set(p, v)
    // Nothing is merged inside such a list, so no path leads through it.
    for (const [p, indices] of cut) this.removeItems(p, indices)
    for (const [p, i, values] of insert) this.#insert(this.#list(p), i, values)
  }

  // setAll sets values that all exist already, in one pass.
  setAll(values: readonly (readonly [Path, unknown])[]): void {
    const list = values.map(([path, value]) => {
      const there = find(this.root, path)
      if (!there) throw missing(path)
      return this.#replace(there, value)
    })
    this.#apply(list)
  }

  // remove removes a key of an object or an item of a list. If it does not exist, nothing is
  // changed.
  remove(path: Path): void {
    const key = path.at(-1)
    const parent = find(this.root, path.slice(0, -1))
    if (!parent || key === undefined) return
    if (typeof key === 'number') {
      this.removeItems(path.slice(0, -1), [key])
      return
    }
    const property = parent.type === 'object' ? member(parent, key) : null
    if (property) this.#cut(parent, [parent.children!.indexOf(property)])
  }

  // removeItems removes items of a list in one pass.
  removeItems(path: Path, indices: readonly number[]): void {
    const list = this.#list(path)
    const all = [...new Set(indices)].filter(i => i >= 0 && i < (list.children?.length ?? 0)).sort((a, b) => a - b)
    if (all.length > 0) this.#cut(list, all)
  }

  append(path: Path, ...values: readonly unknown[]): void {
    const list = this.#list(path)
    if (values.length > 0) this.#insert(list, list.children?.length ?? 0, values)
  }

  insert(path: Path, index: number, value: unknown): void {
    const list = this.#list(path)
    if (index < 0 || index > (list.children?.length ?? 0)) throw missing([...path, index])
    this.#insert(list, index, [value])
  }

  // move moves an item of a list; to is its index afterwards. The items in between keep their
  // bytes.
  move(path: Path, from: number, to: number): void {
    const items = this.#list(path).children ?? []
    if (!items[from] || !items[to]) throw missing([...path, from])
    const text = (n: Node) => this.#text.slice(n.offset, n.offset + n.length)
    // Each slot receives the item that moves there; the text between the slots stays.
    const order = items.map((_, i) => i)
    order.splice(to, 0, ...order.splice(from, 1))
    this.#apply(
      order.flatMap((was, i) =>
        was === i ? [] : [{from: items[i]!.offset, to: items[i]!.offset + items[i]!.length, insert: text(items[was]!)}],
      ),
    )
  }

  // rename renames a key of an object; its value and its position are kept.
  rename(path: Path, name: string): void {
    const parent = find(this.root, path.slice(0, -1))
    const property = parent?.type === 'object' ? member(parent, String(path.at(-1))) : null
    if (!parent || !property) throw missing(path)
    if (name === path.at(-1)) return
    if (member(parent, name)) throw new TextError(`the key "${name}" is there already`, property.offset)
    const key = property.children![0]!
    this.#apply([{from: key.offset, to: key.offset + key.length, insert: JSON.stringify(name)}])
  }

  // raw returns the text of the value at a path.
  raw(path: Path): Raw {
    const n = find(this.root, path)
    if (!n) throw missing(path)
    return new Raw(this.#text.slice(n.offset, n.offset + n.length))
  }

  #list(path: Path): Node {
    const list = find(this.root, path)
    if (list?.type !== 'array') throw missing(path)
    return list
  }

  #styled(): Style {
    this.#style ??= styleOf(this.#text, this.root)
    return this.#style
  }

  #apply(changes: Change[]): void {
    const real = changes.filter(c => this.#text.slice(c.from, c.to) !== c.insert).sort((a, b) => a.from - b.from)
    if (real.length === 0) return
    this.#all = this.#all.compose(ChangeSet.of(real, this.#text.length, '\n'))
    let out = ''
    let at = 0
    for (const c of real) {
      out += this.#text.slice(at, c.from) + c.insert
      at = c.to
    }
    this.#text = out + this.#text.slice(at)
    this.#root = null
  }

  #replace(n: Node, value: unknown): Change {
    const was = this.#text.slice(n.offset, n.offset + n.length)
    const line = n.children !== undefined && n.children.length > 0 && !was.includes('\n')
    return {
      from: n.offset,
      to: n.offset + n.length,
      insert: write(value, this.#styled(), lineIndent(this.#text, n.offset), line),
    }
  }

  // #insert inserts values before the child with an index. If key is set, the single value is
  // inserted as a property.
  #insert(parent: Node, index: number, values: readonly unknown[], key?: string): void {
    const style = this.#styled()
    const children = parent.children ?? []
    const gap = this.#gap(parent)
    const many = gap.includes('\n')
    const indent = many ? gap.slice(gap.lastIndexOf('\n') + 1) : lineIndent(this.#text, parent.offset)
    const beside = children.at(-1)
    const line =
      !many ||
      (beside?.children !== undefined &&
        beside.type !== 'property' &&
        beside.children.length > 0 &&
        !this.#slice(beside).includes('\n') &&
        style.short)
    const texts = values.map(
      v => (key === undefined ? '' : `${JSON.stringify(key)}:${style.colon}`) + write(v, style, indent, line),
    )
    if (children.length === 0) {
      const end = many ? style.eol + lineIndent(this.#text, parent.offset) : ''
      const from = parent.offset + 1
      const inside = this.#text.slice(from, parent.offset + parent.length - 1)
      const made = gap + texts.join(`,${gap || style.comma}`) + end
      // A comment inside stays before the added values.
      if (inside.trim() !== '')
        this.#apply([
          {
            from: parent.offset + parent.length - 1,
            to: parent.offset + parent.length - 1,
            insert: style.eol + made.trim() + (end || style.eol),
          },
        ])
      else this.#apply([{from, to: from + inside.length, insert: made}])
      return
    }
    const between = many ? gap : style.comma
    const next = children[index]
    if (next) this.#apply([{from: next.offset, to: next.offset, insert: texts.map(t => `${t},${between}`).join('')}])
    else {
      const end = beside!.offset + beside!.length
      this.#apply([{from: end, to: end, insert: texts.map(t => `,${between}${t}`).join('')}])
    }
  }

  // #gap returns the white space before a child that is added to a list or an object.
  #gap(parent: Node): string {
    const children = parent.children ?? []
    const last = children.at(-1)
    const style = this.#styled()
    if (last) {
      const before = children.at(-2)
      const lead = this.#text.slice(before ? before.offset + before.length : parent.offset + 1, last.offset)
      if (before || lead.includes('\n'))
        return lead.includes('\n') ? style.eol + lineIndent(this.#text, last.offset) : style.comma
      return style.comma
    }
    // An empty list or object is written in the style of its parent.
    const around = parent.parent?.type === 'property' ? parent.parent.parent : parent.parent
    const lines = around
      ? (around.children ?? []).some((c, i, all) =>
          this.#text
            .slice(i > 0 ? all[i - 1]!.offset + all[i - 1]!.length : around.offset + 1, c.offset)
            .includes('\n'),
        )
      : true
    const inside = this.#slice(parent).includes('\n')
    return lines || inside ? style.eol + lineIndent(this.#text, parent.offset) + style.unit : ''
  }

  #slice(n: Node): string {
    return this.#text.slice(n.offset, n.offset + n.length)
  }

  // #cut removes children, with the separators that are no longer needed.
  #cut(parent: Node, indices: number[]): void {
    const children = parent.children!
    const end = (n: Node) => n.offset + n.length
    const plain = (from: number, to: number) => /^[\s,]*$/.test(this.#text.slice(from, to))
    const inner = {from: parent.offset + 1, to: end(parent) - 1}
    if (
      indices.length === children.length &&
      plain(inner.from, children[0]!.offset) &&
      plain(end(children.at(-1)!), inner.to) &&
      children.every((c, i) => i === 0 || plain(end(children[i - 1]!), c.offset))
    ) {
      this.#apply([{...inner, insert: ''}])
      return
    }
    const gone = new Set(indices)
    const changes: Change[] = []
    for (let i = 0; i < children.length; i++) {
      if (!gone.has(i)) continue
      let last = i
      while (gone.has(last + 1)) last++
      const [before, after] = [children[i - 1], children[last + 1]]
      const runs = children.slice(i, last + 1)
      const neat = runs.every((c, k) => k === 0 || plain(end(runs[k - 1]!), c.offset))
      if (neat && before && plain(end(before), runs[0]!.offset))
        changes.push({from: end(before), to: end(runs.at(-1)!), insert: ''})
      else if (neat && !before && after && plain(end(runs.at(-1)!), after.offset))
        changes.push({from: runs[0]!.offset, to: after.offset, insert: ''})
      else changes.push(...this.#cutAmongComments(children, i, last, inner.to))
      i = last
    }
    this.#apply(changes)
  }

  // #cutAmongComments removes the children from first to last and one comma for each, and keeps the
  // text between them.
  #cutAmongComments(children: Node[], first: number, last: number, close: number): Change[] {
    const end = (n: Node) => n.offset + n.length
    const out: Change[] = children.slice(first, last + 1).map(c => ({from: c.offset, to: end(c), insert: ''}))
    const commaAfter = (i: number) => commaIn(this.#text, end(children[i]!), children[i + 1]?.offset ?? close)
    const commas: number[] = []
    for (let i = first; i <= last; i++) commas.push(commaAfter(i))
    // The last child has no comma after it, so the comma before the first removed child is removed.
    if (commas.at(-1) === -1 && first > 0) commas.push(commaAfter(first - 1))
    for (const at of commas) if (at >= 0) out.push({from: at, to: at + 1, insert: ''})
    return out
  }
}

// commaIn returns the offset of the comma between two offsets, skipping comments, or -1 if there is
// none.
function commaIn(text: string, from: number, to: number): number {
  for (let i = from; i < to; i++) {
    if (text.startsWith('//', i)) {
      const stop = text.indexOf('\n', i)
      i = stop < 0 ? to : stop
    } else if (text.startsWith('/*', i)) i = text.indexOf('*/', i) + 1
    else if (text[i] === ',') return i
  }
  return -1
}

const missing = (path: Path): TextError =>
  new TextError(`there is no value at ${path.length === 0 ? 'the root' : path.join('.')}`, 0)

// apply returns a text with the changes applied.
export function apply(text: string, changes: readonly Change[]): string {
  let out = ''
  let at = 0
  for (const c of [...changes].sort((a, b) => a.from - b.from)) {
    out += text.slice(at, c.from) + c.insert
    at = c.to
  }
  return out + text.slice(at)
}

// invert returns the changes that undo the changes of a text.
export function invert(text: string, changes: readonly Change[]): Change[] {
  let by = 0
  return [...changes]
    .sort((a, b) => a.from - b.from)
    .map(c => {
      const from = c.from + by
      by += c.insert.length - (c.to - c.from)
      return {from, to: from + c.insert.length, insert: text.slice(c.from, c.to)}
    })
}
