import {defaultKeymap, history, historyKeymap} from '@codemirror/commands'
import {MergeView} from '@codemirror/merge'
import {EditorState} from '@codemirror/state'
import {EditorView, keymap, lineNumbers} from '@codemirror/view'
import {useEffect, useRef} from 'react'
import {ago} from '../lib/format.ts'
import {Button} from '../ui/parts.tsx'
import styles from './Conflict.module.css'
import {languageOf, supportOf} from './languages.ts'
import {lineEnds} from './line_ends.ts'
import type {Stored} from './stored.ts'
import {shown} from './text_view.ts'

// typed is told of each change of the right text.
type Props = {theirs: Stored; mine: string; typed: (text: string) => void; resolve: (text: string) => void}

const side = (text: string, label: string) => [
  EditorState.lineSeparator.of('\n'),
  lineNumbers(),
  shown(),
  supportOf(languageOf(text)),
  lineEnds,
  EditorView.contentAttributes.of({'aria-label': label}),
]

const control = (): HTMLElement => {
  const b = document.createElement('button')
  b.type = 'button'
  b.textContent = '→'
  b.title = 'Take the stored part over'
  b.setAttribute('aria-label', b.title)
  return b
}

// Conflict shows a text and the one that another client stored in the meantime, side by side. A person chooses one, or merges them in the right one.
export function Conflict({theirs, mine, typed, resolve}: Props) {
  const parent = useRef<HTMLDivElement>(null)
  const merge = useRef<MergeView | null>(null)
  const tell = useRef(typed)
  tell.current = typed
  const {version, draft, updatedAt} = theirs.definition
  const name = version === null ? '' : ` (${draft === version ? 'draft' : 'version'} v${version}${updatedAt ? `, ${ago(updatedAt)}` : ''})`
  useEffect(() => {
    const view = new MergeView({
      parent: parent.current!,
      a: {doc: theirs.text, extensions: [side(theirs.text, 'The stored document'), EditorState.readOnly.of(true)]},
      b: {
        doc: mine,
        extensions: [
          side(mine, 'Your document'),
          history(),
          keymap.of([...defaultKeymap, ...historyKeymap]),
          EditorView.updateListener.of(u => {
            if (u.docChanged) tell.current(u.state.doc.toString())
          }),
        ],
      },
      revertControls: 'a-to-b',
      renderRevertControl: control,
      collapseUnchanged: {margin: 3, minSize: 8},
    })
    merge.current = view
    return () => {
      merge.current = null
      view.destroy()
    }
  }, [theirs.text, mine])
  return (
    <section className={styles.conflict} aria-label="Two versions of the document">
      <header>
        <h2>Another client changed this workflow first</h2>
        <p>Left is what is stored now{name}. Right is yours. An arrow takes a part of the left over, and the right one can be edited.</p>
        <div className={styles.actions}>
          <Button kind="primary" onClick={() => resolve(merge.current?.b.state.doc.toString() ?? mine)}>
            Go on with the right one
          </Button>
          <Button onClick={() => resolve(theirs.text)}>Take the stored one</Button>
        </div>
      </header>
      <div className={styles.sides} ref={parent} />
    </section>
  )
}
