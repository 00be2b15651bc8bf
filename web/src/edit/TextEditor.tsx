import {EditorView} from '@codemirror/view'
import {useEffect, useRef} from 'react'
import type {Check} from './check.ts'
import {completing} from './complete/editor.ts'
import type {Vocabulary} from './complete/offers.ts'
import {marksOf} from './marks.ts'
import type {DocumentModel} from './model.ts'
import styles from './TextEditor.module.css'
import {openText, type TextView} from './text_view.ts'

type Props = {
  model: DocumentModel
  check: Check | null
  // known is the vocabulary for completion and hover.
  known: Vocabulary
  readOnly: boolean
  label: string
  opened?: (view: EditorView | null) => void
  cursor?: (offset: number) => void
}

// TextEditor shows a document as text, with its problems marked.
export function TextEditor({model, check, known, readOnly, label, opened, cursor}: Props) {
  const parent = useRef<HTMLDivElement>(null)
  const text = useRef<TextView | null>(null)
  const tell = useRef(opened)
  tell.current = opened
  const point = useRef(cursor)
  point.current = cursor
  const knows = useRef(known)
  knows.current = known
  useEffect(() => {
    const t = openText(model, parent.current!, label, [
      completing(() => knows.current),
      EditorView.updateListener.of(u => {
        if (u.selectionSet || u.docChanged) point.current?.(u.state.selection.main.head)
      }),
    ])
    text.current = t
    tell.current?.(t.view)
    return () => {
      text.current = null
      tell.current?.(null)
      t.close()
    }
  }, [model, label])
  useEffect(() => text.current?.setReadOnly(readOnly), [readOnly])
  useEffect(() => {
    const marks = check && marksOf(model.state, model.text, check)
    if (marks && text.current) model.dispatch(marks)
  }, [model, check])
  return <div className={styles.editor} ref={parent} />
}
