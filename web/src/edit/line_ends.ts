import {EditorState, type Extension, type Text, type Transaction} from '@codemirror/state'
import {
  Decoration,
  type DecorationSet,
  EditorView,
  MatchDecorator,
  ViewPlugin,
  type ViewUpdate,
  WidgetType,
} from '@codemirror/view'

// The text of a model keeps its line endings. A carriage return before a line feed is not shown,
// and is written if all lines of a document end with one.

class End extends WidgetType {
  override toDOM(): HTMLElement {
    const e = document.createElement('span')
    e.className = 'cm-lineEnd'
    return e
  }
  override eq(): boolean {
    return true
  }
}

const matcher = new MatchDecorator({regexp: /\r$/g, decoration: Decoration.replace({widget: new End()})})

const hidden = ViewPlugin.fromClass(
  class {
    marks: DecorationSet
    constructor(view: EditorView) {
      this.marks = matcher.createDeco(view)
    }
    update(u: ViewUpdate) {
      this.marks = matcher.updateDeco(u, this.marks)
    }
  },
  {
    decorations: p => p.marks,
    provide: p => EditorView.atomicRanges.of(view => view.plugin(p)?.marks ?? Decoration.none),
  },
)

// endsOf returns the line ending of a document, which is the ending of its first line.
export const endsOf = (doc: Text): '\n' | '\r\n' => (doc.lines > 1 && doc.line(1).text.endsWith('\r') ? '\r\n' : '\n')

const written = (tr: Transaction) => {
  if (!tr.docChanged || !tr.isUserEvent('input') || endsOf(tr.startState.doc) === '\n') return tr
  const changes: {from: number; to: number; insert: string}[] = []
  let bare = false
  tr.changes.iterChanges((from, to, _a, _b, inserted) => {
    const insert = inserted.toString()
    if (/(^|[^\r])\n/.test(insert)) bare = true
    changes.push({from, to, insert: insert.replace(/\r?\n/g, '\r\n')})
  })
  if (!bare) return tr
  const set = tr.startState.changes(changes)
  return [
    {
      changes: set,
      selection: {anchor: set.mapPos(tr.startState.selection.main.to, 1)},
      scrollIntoView: tr.scrollIntoView,
      userEvent: 'input',
    },
  ]
}

export const lineEnds: Extension = [hidden, EditorState.transactionFilter.of(written)]
