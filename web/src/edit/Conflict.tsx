import {defaultKeymap, history, historyKeymap} from '@codemirror/commands'
import {MergeView, unifiedMergeView} from '@codemirror/merge'
import {EditorState, type Extension} from '@codemirror/state'
import {EditorView, keymap, lineNumbers} from '@codemirror/view'
import {useEffect, useRef, useState} from 'react'
import {ago} from '../lib/format.ts'
import {Button} from '../ui/parts.tsx'
import styles from './Conflict.module.css'
import {languageOf, supportOf} from './languages.ts'
import {lineEnds} from './line_ends.ts'
import type {Stored} from './stored.ts'
import {shown} from './text_view.ts'

// typed is called with the right text after each change of it.
type Props = {theirs: Stored; mine: string; typed: (text: string) => void; resolve: (text: string) => void}

const side = (text: string, label: string) => [
  EditorState.lineSeparator.of('\n'),
  lineNumbers(),
  shown(),
  supportOf(languageOf(text)),
  lineEnds,
  EditorView.contentAttributes.of({'aria-label': label}),
]

const button = (text: string, title: string): HTMLButtonElement => {
  const b = document.createElement('button')
  b.type = 'button'
  b.textContent = text
  b.title = title
  b.setAttribute('aria-label', title)
  return b
}

const control = (): HTMLElement => button('→', 'Take the stored part over')

// narrow reports whether there is no room for two texts side by side.
const narrow = (): boolean => window.matchMedia('(max-width: 760px)').matches

type Merging = {text: () => string; close: () => void}

// sideBySide shows both texts side by side; the right one can be edited.
function sideBySide(parent: HTMLElement, theirs: string, mine: string, edited: Extension): Merging {
  const view = new MergeView({
    parent,
    a: {doc: theirs, extensions: [side(theirs, 'The stored document'), EditorState.readOnly.of(true)]},
    b: {doc: mine, extensions: [side(mine, 'Your document'), edited]},
    revertControls: 'a-to-b',
    renderRevertControl: control,
    collapseUnchanged: {margin: 3, minSize: 8},
  })
  return {text: () => view.b.state.doc.toString(), close: () => view.destroy()}
}

// unifiedView shows the text to be edited, with the differing parts of the stored text above its
// own.
function unifiedView(parent: HTMLElement, theirs: string, mine: string, edited: Extension): Merging {
  const unified = unifiedMergeView({
    original: theirs,
    gutter: false,
    highlightChanges: false,
    collapseUnchanged: {margin: 3, minSize: 8},
    mergeControls: (type, action) => {
      const b =
        type === 'reject'
          ? button('Take the stored part', 'Take the stored part over')
          : button('Keep mine', 'Keep my part')
      b.addEventListener('mousedown', action)
      b.addEventListener('click', e => e.detail === 0 && action(e))
      return b
    },
  })
  const view = new EditorView({parent, doc: mine, extensions: [side(mine, 'Your document'), edited, unified]})
  return {text: () => view.state.doc.toString(), close: () => view.destroy()}
}

// Conflict shows a text and the one that another client stored in the meantime, side by side, or
// unified on narrow screens. The user chooses one or merges them.
export function Conflict({theirs, mine, typed, resolve}: Props) {
  const parent = useRef<HTMLDivElement>(null)
  const merge = useRef<Merging | null>(null)
  const [one] = useState(narrow)
  const tell = useRef(typed)
  tell.current = typed
  const {version, draft, updatedAt} = theirs.definition
  const name =
    version === null
      ? ''
      : ` (${draft === version ? 'draft' : 'version'} v${version}${updatedAt ? `, ${ago(updatedAt)}` : ''})`
  useEffect(() => {
    const edited = [
      history(),
      keymap.of([...defaultKeymap, ...historyKeymap]),
      EditorView.updateListener.of(u => {
        if (u.docChanged) tell.current(u.state.doc.toString())
      }),
    ]
    const made = (one ? unifiedView : sideBySide)(parent.current!, theirs.text, mine, edited)
    merge.current = made
    return () => {
      merge.current = null
      made.close()
    }
  }, [theirs.text, mine, one])
  return (
    <section className={styles.conflict} aria-label="Two versions of the document">
      <header>
        <h2>Another client changed this workflow first</h2>
        {one ? (
          <p>
            Below is your text, which can be edited. Where it differs, what is stored now{name} stands above it in red.
          </p>
        ) : (
          <p>
            Left is what is stored now{name}. Right is yours. An arrow takes a part of the left over, and the right one
            can be edited.
          </p>
        )}
        <div className={styles.actions}>
          <Button kind="primary" onClick={() => resolve(merge.current?.text() ?? mine)}>
            {one ? 'Go on with mine' : 'Go on with the right one'}
          </Button>
          <Button onClick={() => resolve(theirs.text)}>Take the stored one</Button>
        </div>
      </header>
      <div className={styles.sides} ref={parent} />
    </section>
  )
}
