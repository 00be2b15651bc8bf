import {useMemo} from 'react'
import {diff, type Part} from '../lib/diff.ts'
import {asText} from '../lib/json.ts'
import styles from './Compare.module.css'
import {Text} from './Text.tsx'

type Props = {left: unknown; right: unknown; names: [string, string]; label: string}

// Compare shows two values side by side, with the differences marked.
export function Compare({left, right, names, label}: Props) {
  const [a, b] = [asText(left), asText(right)]
  const parts = useMemo(() => diff(a, b), [a, b])
  const isText = typeof left === 'string' && typeof right === 'string'
  if (a === '' && b === '') return <p className={styles.same}>Both are empty</p>
  if (a === b) return <p className={styles.same}>The same in both</p>
  return (
    <div className={styles.pair} role="group" aria-label={label}>
      <Side parts={parts} not="right" name={names[0]} mono={!isText} />
      <Side parts={parts} not="left" name={names[1]} mono={!isText} />
    </div>
  )
}

function Side({parts, not, name, mono}: {parts: Part[]; not: Part['is']; name: string; mono: boolean}) {
  return (
    <section className={styles.side} tabIndex={0} aria-label={name}>
      <h4>{name}</h4>
      <div className={mono ? `${styles.text} mono` : styles.text}>
        {parts
          .filter(p => p.is !== not)
          .map((p, i) =>
            p.is === 'same' ? (
              <Text key={i} mono={mono}>
                {p.text}
              </Text>
            ) : p.is === 'left' ? (
              <del key={i}>
                <Text mono={mono}>{p.text}</Text>
              </del>
            ) : (
              <ins key={i}>
                <Text mono={mono}>{p.text}</Text>
              </ins>
            ),
          )}
      </div>
    </section>
  )
}
