import {useMemo, useState} from 'react'
import {pieces} from '../lib/hostile.ts'
import styles from './Text.module.css'

// first and more bound what is laid out at once: a line of megabytes would hold up the page.
const first = 12_000
const more = 200_000

// Text shows a text of anyone as it is: no markup, and characters that would change how it is read by their numbers.
export function Text({children, mono = false}: {children: string; mono?: boolean}) {
  const [shown, setShown] = useState(first)
  const part = children.length > shown ? children.slice(0, shown) : children
  const list = useMemo(() => pieces(part), [part])
  return (
    <span className={mono ? styles.mono : styles.text} dir="auto">
      {list.map((p, i) =>
        p.odd ? (
          <span key={i} className={styles.odd} title="A character that is not seen, or that changes the direction of text">
            {p.text}
          </span>
        ) : (
          p.text
        ),
      )}
      {part.length < children.length && (
        <button type="button" className={styles.more} onClick={() => setShown(shown + more)}>
          Show more ({Math.ceil((children.length - part.length) / 1000)}k characters left)
        </button>
      )}
    </span>
  )
}

// Line shows a text on one line, cut off at its end.
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
