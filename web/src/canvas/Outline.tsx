import {defaultRangeExtractor, useVirtualizer} from '@tanstack/react-virtual'
import {useLayoutEffect, useMemo, useRef} from 'react'
import {Line} from '../ui/Text.tsx'
import {output} from './document.ts'
import {titleOf} from './FlowNode.tsx'
import styles from './Outline.module.css'
import {outline, siblingsOf} from './places.ts'
import {handleWord} from './rules.ts'
import {type Editing, nodeOf} from './use_editing.ts'
import {kindWords} from './words.ts'

// Outline shows the nodes as a tree, as a list for screen readers: arrow keys move through it, and
// the keys of the drawing act on the selected node. Only visible rows are in the page, plus the row
// that Tab leads to.
export function Outline({editing, troubles}: {editing: Editing; troubles: ReadonlyMap<string, readonly unknown[]>}) {
  const {c, nodes, current, select} = editing
  const rows = useMemo(() => outline(c), [c])
  const siblings = useMemo(() => siblingsOf(rows), [rows])
  const list = useRef<HTMLDivElement>(null)
  const wanted = useRef<string | null>(null) // the row that gets the focus as soon as it is in the page
  const at = rows.findIndex(r => r.key === current)
  const tab = Math.max(0, at)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => list.current,
    getItemKey: i => rows[i]!.key,
    estimateSize: () => 26,
    overscan: 10,
    rangeExtractor: r => {
      const shown = defaultRangeExtractor(r)
      return rows.length === 0 || shown.includes(tab) ? shown : [...shown, tab].sort((a, b) => a - b)
    },
  })
  useLayoutEffect(() => {
    if (wanted.current === null) return
    const row = [...(list.current?.querySelectorAll<HTMLElement>('[role=treeitem]') ?? [])].find(
      r => r.dataset.key === wanted.current,
    )
    if (!row) return
    wanted.current = null
    row.focus()
  })
  const to = (i: number) => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, i))]
    if (!row) return
    wanted.current = row.key
    select([row.key])
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
      <div role="none" className={styles.all} style={{height: virtual.getTotalSize()}}>
        {virtual.getVirtualItems().map(v => {
          const row = rows[v.index]!
          const n = nodeOf(c, row.key)
          if (!n) return null
          const {word, icon: Icon} = kindWords(n.kind)
          const before = row.from === null ? undefined : nodeOf(c, row.from)
          const conditions = Array.isArray(before?.data.conditions) ? before.data.conditions : []
          const under = row.under === '' || row.under === output ? '' : handleWord(row.under, conditions)
          const bad = troubles.get(row.key)?.length ?? 0
          return (
            <div
              key={row.key}
              ref={virtual.measureElement}
              data-index={v.index}
              data-key={row.key}
              role="treeitem"
              aria-level={row.level}
              aria-posinset={siblings[v.index]!.at}
              aria-setsize={siblings[v.index]!.of}
              aria-selected={nodes.has(row.key)}
              tabIndex={tab === v.index ? 0 : -1}
              className={styles.row}
              style={{paddingLeft: 6 + (row.level - 1) * 12, transform: `translateY(${v.start}px)`}}
              onClick={() => to(v.index)}
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
    </div>
  )
}
