import {MergeView, unifiedMergeView} from '@codemirror/merge'
import {EditorState} from '@codemirror/state'
import {EditorView, lineNumbers} from '@codemirror/view'
import {useEffect, useRef} from 'react'
import {languageOf, supportOf} from '../edit/languages.ts'
import {shown} from '../edit/text_view.ts'
import styles from './TextDiff.module.css'

const collapse = {margin: 3, minSize: 8}

const side = (text: string, label: string) => [
  EditorState.lineSeparator.of('\n'),
  EditorState.readOnly.of(true),
  lineNumbers(),
  shown(),
  supportOf(languageOf(text)),
  EditorView.contentAttributes.of({'aria-label': label, 'aria-readonly': 'true'}),
]

// TextDiff shows the differences of two texts: side by side if there is room, else unified.
export default function TextDiff({a, b, aName, bName}: {a: string; b: string; aName: string; bName: string}) {
  const parent = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const wide = window.matchMedia('(min-width: 900px)').matches
    const view = wide
      ? new MergeView({
          parent: parent.current!,
          a: {doc: a, extensions: side(a, aName)},
          b: {doc: b, extensions: side(b, bName)},
          collapseUnchanged: collapse,
        })
      : new EditorView({
          parent: parent.current!,
          doc: b,
          extensions: [
            side(b, bName),
            unifiedMergeView({
              original: EditorState.create({doc: a, extensions: EditorState.lineSeparator.of('\n')}).doc,
              mergeControls: false,
              collapseUnchanged: collapse,
            }),
          ],
        })
    return () => view.destroy()
  }, [a, b, aName, bName])
  return <div className={styles.diff} ref={parent} />
}
