import {useMemo, useRef} from 'react'
import {Line} from '../ui/Text.tsx'
import {output} from './document.ts'
import {titleOf} from './FlowNode.tsx'
import styles from './Outline.module.css'
import {outline} from './places.ts'
import {handleWord} from './rules.ts'
import {type Editing, nodeOf} from './use_editing.ts'
import {kindWords} from './words.ts'

// Outline has the nodes as a tree, for lists and screen readers: arrows go through it, and the keys of the drawing work on the node that is chosen.
export function Outline({editing, troubles}: {editing: Editing; troubles: ReadonlyMap<string, readonly unknown[]>}) {
  const {c, nodes, current, select} = editing
  const rows = useMemo(() => outline(c), [c])
  const list = useRef<HTMLDivElement>(null)
  const at = rows.findIndex(r => r.key === current)
  const to = (i: number) => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, i))]
    if (!row) return
    select([row.key])
    list.current?.querySelectorAll<HTMLElement>('[role=treeitem]')[rows.indexOf(row)]?.focus()
  }
  return (
    <div
      ref={list}
      role="tree"
      aria-label="Nodes"
      aria-multiselectable="true"
      className={styles.tree}
      onKeyDown={e => {
        const by = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1}[e.key]
        if (by === undefined || e.altKey || e.ctrlKey || e.metaKey) return
        e.preventDefault()
        e.stopPropagation()
        to(by)
      }}
    >
      {rows.map((row, i) => {
        const n = nodeOf(c, row.key)
        if (!n) return null
        const {word, icon: Icon} = kindWords(n.kind)
        const conditions = Array.isArray(nodeOf(c, c.edges.find(e => e.to === row.key && e.port === row.under)?.from ?? null)?.data.conditions)
          ? (nodeOf(c, c.edges.find(e => e.to === row.key && e.port === row.under)!.from)!.data.conditions as unknown[])
          : []
        const under = row.under === '' || row.under === output ? '' : handleWord(row.under, conditions)
        const bad = troubles.get(row.key)?.length ?? 0
        return (
          <div
            key={row.key}
            role="treeitem"
            aria-level={row.level}
            aria-selected={nodes.has(row.key)}
            tabIndex={at === i || (at < 0 && i === 0) ? 0 : -1}
            className={styles.row}
            style={{paddingLeft: 6 + (row.level - 1) * 12}}
            onClick={() => to(i)}
            onFocus={() => {
              if (!nodes.has(row.key)) select([row.key])
            }}
            onKeyDown={() => undefined}
          >
            <Icon size={13} aria-hidden="true" />
            <span className="hidden">{word}</span>
            <span className={styles.name}>
              <Line max={60}>{titleOf(n)}</Line>
            </span>
            {under && (
              <span className={styles.under}>
                <Line max={20}>{under}</Line>
              </span>
            )}
            {bad > 0 && (
              <span className={styles.bad}>
                {bad}
                <span className="hidden"> {bad === 1 ? 'problem' : 'problems'}</span>
              </span>
            )}
          </div>
        )
      })}
    </div>
  )
}
