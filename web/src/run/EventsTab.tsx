import {useVirtualizer} from '@tanstack/react-virtual'
import {useMemo, useRef, useState} from 'react'
import {stringify} from '../lib/exact.ts'
import {clockTime} from '../lib/format.ts'
import {pretty} from '../lib/json.ts'
import type {LiveRun} from '../live/run_source.ts'
import {useKeys} from '../shell/keys.ts'
import control from '../ui/control.module.css'
import {Dialog} from '../ui/Dialog.tsx'
import {Line} from '../ui/Text.tsx'
import {Value} from '../ui/Value.tsx'
import styles from './Rows.module.css'
import type {RunEvent} from './types.ts'

// quiet are the kinds that are hidden at first: there are many such events, and they follow from
// others.
const quiet = new Set(['edge.taken', 'condition.checked', 'call.reserved', 'func.noted'])

// EventsTab shows the raw journal, including event types that the page does not know.
export function EventsTab({live}: {live: LiveRun}) {
  const [text, setText] = useState('')
  const [all, setAll] = useState(false)
  const [open, setOpen] = useState<RunEvent | null>(null)
  const field = useRef<HTMLInputElement>(null)
  useKeys({'/': () => field.current?.focus()})
  const rows = useMemo(() => {
    const word = text.trim().toLowerCase()
    return live.events.filter(
      e =>
        (all || !quiet.has(e.type)) &&
        (!word || `${e.type} ${e.node ?? ''} ${stringify(e.data)}`.toLowerCase().includes(word)),
    )
  }, [live.events, text, all])
  const box = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => 34,
    overscan: 20,
  })
  const left = live.events.length - live.events.filter(e => !quiet.has(e.type)).length
  return (
    <div className={styles.tab}>
      <div className={styles.bar}>
        <input
          ref={field}
          className={control.input}
          type="search"
          aria-label="Search in the events"
          placeholder="Search in the events"
          value={text}
          onChange={e => setText(e.target.value)}
        />
        <label className={styles.check}>
          <input type="checkbox" checked={all} onChange={e => setAll(e.target.checked)} /> also edges and conditions (
          {left})
        </label>
      </div>
      {live.view.unknown.length > 0 && (
        <p>{live.view.unknown.length} events are of types that this page does not know; they are shown as they are.</p>
      )}
      <div ref={box} className={styles.list}>
        <ol className={styles.inner} style={{height: virtual.getTotalSize()}} aria-label="Events">
          {virtual.getVirtualItems().map(v => {
            const e = rows[v.index]!
            return (
              <li key={e.seq} className={styles.item} style={{transform: `translateY(${v.start}px)`}}>
                <button type="button" className={styles.event} onClick={() => setOpen(e)}>
                  <span className={styles.seq}>{e.seq}</span>
                  <span className={styles.time}>{clockTime(e.time)}</span>
                  <span className={styles.type}>{e.type}</span>
                  <span className={styles.node}>
                    <Line>{e.node ?? ''}</Line>
                  </span>
                  <span className={styles.data}>
                    <Line>{stringify(e.data).slice(0, 300)}</Line>
                  </span>
                </button>
              </li>
            )
          })}
        </ol>
      </div>
      {open && (
        <Dialog title={`Event ${open.seq}: ${open.type}`} close={() => setOpen(null)}>
          <Value of={pretty(open)} label="the event" />
        </Dialog>
      )}
    </div>
  )
}
