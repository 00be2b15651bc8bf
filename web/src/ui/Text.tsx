import {memo, useMemo, useState} from 'react'
import {pieces} from '../lib/hostile.ts'
import {partsOf} from '../lib/text_parts.ts'
import styles from './Text.module.css'

// first and more limit the text that is laid out at once: a text of several megabytes would block
// the page.
const first = 12_000
const more = 100_000

// Text shows untrusted text unchanged: without markup, and with numbers in place of characters that
// would change how it is read. Parts that are already shown are not laid out again when another
// part is added.
export function Text({children, mono = false}: {children: string; mono?: boolean}) {
  const [count, setCount] = useState(1)
  const parts = useMemo(() => partsOf(children, first, more, count), [children, count])
  const end = parts.at(-1)?.to ?? 0
  return (
    <span className={mono ? styles.mono : styles.text} dir="auto">
      {parts.map(p => (
        <Part key={p.from} text={children.slice(p.from, p.to)} isBlock={p.isLines} />
      ))}
      {end < children.length && (
        <button type="button" className={styles.more} onClick={() => setCount(count + 1)}>
          Show more ({Math.ceil((children.length - end) / 1000)}k characters left)
        </button>
      )}
    </span>
  )
}

// Part is a part of a text: whole lines, which are laid out separately, or a piece of a line.
const Part = memo(({text, isBlock}: {text: string; isBlock: boolean}) => {
  const shown = pieces(text).map((p, i) =>
    p.odd ? (
      <span key={i} className={styles.odd} title="A character that is not seen, or that changes the direction of text">
        {p.text}
      </span>
    ) : (
      p.text
    ),
  )
  return isBlock ? <span className={styles.block}>{shown}</span> : shown
})

// Line shows a text on one line, truncated at its end.
export function Line({children, max = 200}: {children: string; max?: number}) {
  const text = children.slice(0, max + 1).replace(/\s+/g, ' ')
  return (
    <span className={styles.line}>
      <bdi>
        {pieces(text.slice(0, max)).map((p, i) =>
          p.odd ? (
            <span key={i} className={styles.odd}>
              {p.text}
            </span>
          ) : (
            p.text
          ),
        )}
        {text.length > max && '…'}
      </bdi>
    </span>
  )
}
