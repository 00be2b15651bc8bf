import {Line} from '../ui/Text.tsx'
import type {GraphDiff} from './graph_diff.ts'
import styles from './VersionsPage.module.css'

const signs = {added: '+', removed: '−', changed: '~'} as const

// GraphChanges lists the nodes and edges that differ between two versions.
export function GraphChanges({diff}: {diff: GraphDiff}) {
  if (diff.nodes.length + diff.edges.length === 0) return <p className={styles.none}>No node and no edge differs.</p>
  return (
    <>
      <h3>Graph</h3>
      <ul className={styles.changes} aria-label="Changes of the graph">
        {diff.nodes.map(n => (
          <li key={n.how + n.id} data-how={n.how}>
            <span aria-hidden>{signs[n.how]}</span>
            <Line>{`${n.how} ${n.word} ${n.title}`}</Line>
          </li>
        ))}
        {diff.edges.map((e, i) => (
          <li key={i} data-how={e.how}>
            <span aria-hidden>{signs[e.how]}</span>
            <Line>{`${e.how} edge ${e.from} → ${e.to}${e.label ? ` (${e.label})` : ''}`}</Line>
          </li>
        ))}
      </ul>
    </>
  )
}
