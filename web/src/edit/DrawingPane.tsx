import {Maximize, ZoomIn, ZoomOut} from 'lucide-react'
import {type ReactNode, useEffect, useMemo, useRef, useState} from 'react'
import {clean} from '../lib/hostile.ts'
import control from '../ui/control.module.css'
import {IconButton} from '../ui/parts.tsx'
import type {Check} from './check.ts'
import styles from './DrawingPane.module.css'
import {type DrawnNode, worstOf} from './drawing.ts'
import {Picture} from './Picture.tsx'

type Props = {
  check: Check | null
  // at is the id in the drawing of the node whose text contains the cursor.
  at: string
  // states are the states of the last run, by the id of the node in events.
  states?: ReadonlyMap<string, string>
  tools?: ReactNode
  branch: string
  setBranch: (id: string) => void
  go: (n: DrawnNode) => void
}

const least = 0.2
const most = 2

// DrawingPane is the drawing of a document as the server understood it. Selecting a node moves to
// its text.
export function DrawingPane({check, at, states, tools, branch, setBranch, go}: Props) {
  const room = useRef<HTMLDivElement>(null)
  const [zoom, setZoom] = useState(0)
  const drawing = check?.drawing ?? null
  const branches = check?.branches ?? []
  const worst = useMemo(() => (check ? worstOf(check) : new Map<string, string>()), [check])
  const fit = drawing
    ? Math.max(least, Math.min(1, ((room.current?.clientWidth ?? 480) - 32) / Math.max(1, drawing.width)))
    : 1
  const scale = zoom || fit
  useEffect(() => {
    if (at) room.current?.querySelector('[data-at]')?.scrollIntoView({block: 'nearest', inline: 'nearest'})
  }, [at])
  return (
    <section className={styles.pane} aria-label="Drawing">
      <header className={styles.head}>
        {branches.length > 0 && (
          <select
            className={control.select}
            aria-label="Branch that is drawn"
            value={branch}
            onChange={e => setBranch(e.target.value)}
          >
            <option value="">the main graph</option>
            {branches.map(b => (
              <option key={b.id} value={b.id}>
                {clean(b.name || b.id)}
              </option>
            ))}
          </select>
        )}
        {tools}
        <span className={styles.tools}>
          <IconButton label="Smaller" onClick={() => setZoom(Math.max(least, scale / 1.25))}>
            <ZoomOut size={16} />
          </IconButton>
          <IconButton label="Larger" onClick={() => setZoom(Math.min(most, scale * 1.25))}>
            <ZoomIn size={16} />
          </IconButton>
          <IconButton label="Fit the width" onClick={() => setZoom(0)}>
            <Maximize size={16} />
          </IconButton>
        </span>
      </header>
      <div className={styles.room} ref={room} tabIndex={0} role="group" aria-label="Graph">
        {!drawing || (drawing.nodes ?? []).length === 0 ? (
          <p className={styles.none}>{check ? 'Nothing of it can be drawn yet.' : 'Drawing…'}</p>
        ) : (
          <svg
            className={styles.drawing}
            width={drawing.width * scale}
            height={drawing.height * scale}
            viewBox={`0 0 ${drawing.width} ${drawing.height}`}
            aria-label="Drawing of the workflow"
          >
            <Picture drawing={drawing} at={at} states={states} worst={worst} go={go} />
          </svg>
        )}
      </div>
    </section>
  )
}
