import {type Format, type Kind, kindsOf} from './document.ts'
import {dragType} from './Flow.tsx'
import styles from './Palette.module.css'
import {wordsOf} from './words.ts'

type Props = {format: Format; add: (kind: Kind) => void; hasStart: boolean; disabled: boolean}

// Palette has the kinds of nodes: a click, Enter or a drag adds one.
export function Palette({format, add, hasStart, disabled}: Props) {
  return (
    <ul className={styles.list} aria-label="Kinds of nodes">
      {kindsOf(format).map(kind => {
        const {word, hint, icon: Icon} = wordsOf[kind]
        const off = disabled || (kind === 'start' && hasStart)
        return (
          <li key={kind}>
            <button
              type="button"
              className={styles.kind}
              disabled={off}
              draggable={!off}
              title={kind === 'start' && hasStart ? 'A workflow has exactly one start node' : hint}
              onDragStart={e => {
                e.dataTransfer.setData(dragType, kind)
                e.dataTransfer.effectAllowed = 'copy'
              }}
              onClick={() => add(kind)}
            >
              <Icon size={15} aria-hidden="true" />
              {word}
            </button>
          </li>
        )
      })}
    </ul>
  )
}
