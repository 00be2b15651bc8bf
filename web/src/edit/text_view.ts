import {closeBrackets, closeBracketsKeymap, completionKeymap} from '@codemirror/autocomplete'
import {defaultKeymap, historyKeymap, indentWithTab} from '@codemirror/commands'
import {bracketMatching, foldGutter, foldKeymap, indentOnInput, indentUnit} from '@codemirror/language'
import {lintGutter, lintKeymap} from '@codemirror/lint'
import {highlightSelectionMatches, searchKeymap} from '@codemirror/search'
import {Compartment, EditorState, type Extension} from '@codemirror/state'
import {
  drawSelection,
  dropCursor,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  rectangularSelection,
} from '@codemirror/view'
import {odd} from '../lib/hostile.ts'
import {indentOf} from './indent.ts'
import {languageOf, supportOf} from './languages.ts'
import {lineEnds} from './line_ends.ts'
import {aroundSigns} from './marks.ts'
import type {DocumentModel} from './model.ts'
import {looks} from './theme.ts'

// shown is the extension of every displayed text that marks characters that hide or reorder text.
export const shown = (): Extension => [
  highlightSpecialChars({specialChars: new RegExp(`(?!\\r$)${odd.source}`, 'g')}),
  EditorView.lineWrapping,
  looks(),
]

const editing = (label: string): Extension => [
  lineNumbers(),
  highlightActiveLineGutter(),
  foldGutter({openText: '⌄', closedText: '›'}),
  drawSelection(),
  dropCursor(),
  EditorState.allowMultipleSelections.of(true),
  indentOnInput(),
  bracketMatching(),
  closeBrackets(),
  rectangularSelection(),
  highlightActiveLine(),
  highlightSelectionMatches(),
  lintGutter(),
  aroundSigns,
  lineEnds,
  keepCaret(),
  typeOver,
  EditorView.contentAttributes.of({
    'aria-label': label,
    spellcheck: 'false',
    autocorrect: 'off',
    autocapitalize: 'off',
  }),
  keymap.of([
    ...closeBracketsKeymap,
    ...defaultKeymap,
    ...searchKeymap,
    ...historyKeymap,
    ...foldKeymap,
    ...completionKeymap,
    ...lintKeymap,
    indentWithTab,
  ]),
]

// keepCaret keeps the caret in view when the text gets a smaller pane, as when problems are listed
// below it. A caret outside the pane, where the user has scrolled it to, stays there.
function keepCaret(): Extension {
  let height = 0
  return EditorView.updateListener.of(({view, geometryChanged}) => {
    if (!geometryChanged) return
    const before = height
    const pane = view.scrollDOM.getBoundingClientRect()
    height = pane.height
    if (height >= before || !view.hasFocus) return
    const {head} = view.state.selection.main
    const caret = view.coordsAtPos(head)
    if (caret && caret.top >= pane.top && caret.bottom <= pane.top + before && caret.bottom > pane.bottom)
      view.dispatch({effects: EditorView.scrollIntoView(head)})
  })
}

// typeOver types over a selection. The browser would wrap the replacement in an element with an
// inline style, which the policy rejects.
const typeOver = EditorView.domEventHandlers({
  beforeinput(e, view) {
    const {main} = view.state.selection
    const text = e.data
    if (e.inputType !== 'insertText' || !text || main.empty || view.composing || view.state.readOnly) return false
    const typed = () =>
      view.state.update(view.state.replaceSelection(text), {userEvent: 'input.type', scrollIntoView: true})
    if (!view.state.facet(EditorView.inputHandler).some(take => take(view, main.from, main.to, text, typed)))
      view.dispatch(typed())
    return true
  },
})

export type TextView = {
  view: EditorView
  setReadOnly: (on: boolean) => void
  close: () => void
}

// openText shows a model as text in an element. more are extensions of the caller.
export function openText(model: DocumentModel, parent: HTMLElement, label: string, more: Extension): TextView {
  const language = new Compartment()
  const readOnly = new Compartment()
  const text = model.text
  let now = languageOf(text)
  const extensions: Extension = [
    shown(),
    editing(label),
    language.of(supportOf(now)),
    indentUnit.of(indentOf(text)),
    readOnly.of([]),
    more,
    EditorView.updateListener.of(u => {
      if (!u.docChanged) return
      const next = languageOf(u.state.sliceDoc(0, 1000))
      if (next === now) return
      now = next
      queueMicrotask(() => model.dispatch({effects: language.reconfigure(supportOf(next))}))
    }),
  ]
  const {view, detach} = model.attach(extensions, state => {
    return new EditorView({state, parent, dispatchTransactions: transactions => model.apply(transactions)})
  })
  return {
    view,
    setReadOnly: on =>
      model.dispatch({
        effects: readOnly.reconfigure(on ? [EditorState.readOnly.of(true), EditorView.editable.of(false)] : []),
      }),
    close: () => {
      detach()
      view.destroy()
    },
  }
}
