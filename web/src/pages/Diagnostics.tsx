import type {Schemas} from '../api/client.ts'
import {Text} from '../ui/Text.tsx'
import styles from './Workflow.module.css'

// Diagnostics lists the problems of a document with their lines.
export function Diagnostics({list}: {list: Schemas['Diagnostic'][]}) {
  if (list.length === 0) return null
  return (
    <ul className={styles.problems}>
      {list.map((d, i) => (
        <li key={i} data-severity={d.severity}>
          {d.span.start.line > 0 && `line ${d.span.start.line}: `}
          <strong>{d.code}</strong> <Text>{d.message}</Text>
        </li>
      ))}
    </ul>
  )
}
