import {Maximize, ZoomIn, ZoomOut} from 'lucide-react'
import {type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef, useState} from 'react'
import {curveOf} from '../lib/curve.ts'
import {clean} from '../lib/hostile.ts'
import control from '../ui/control.module.css'
import {IconButton} from '../ui/parts.tsx'
import type {Check} from './check.ts'
import styles from './DrawingPane.module.css'
import {type DrawnNode, worstOf} from './drawing.ts'

type Props = {
  check: Check | null
  // at is the id in the drawing of the node in whose text the cursor is.
  at: string
  // states are those of the last run, by the id of the node in events.
  states?: ReadonlyMap<string, string>
  tools?: ReactNode
  branch: string
  setBranch: (id: string) => void
  go: (n: DrawnNode) => void
}

const least = 0.2
const most = 2

// DrawingPane is the drawing of a document as the server understood it. A node leads to its text.
export function DrawingPane({check, at, states, tools, branch, setBranch, go}: Props) {
  const room = useRef<HTMLDivElement>(null)
  const [zoom, setZoom] = useState(0)
  const drawing = check?.drawing ?? null
  const branches = check?.branches ?? []
  const worst = useMemo(() => (check ? worstOf(check) : new Map<string, string>()), [check])
  const fit = drawing ? Math.max(least, Math.min(1, ((room.current?.clientWidth ?? 480) - 32) / Math.max(1, drawing.width))) : 1
  const scale = zoom || fit
  useEffect(() => {
    if (at) room.current?.querySelector('[data-at]')?.scrollIntoView({block: 'nearest', inline: 'nearest'})
  }, [at])
  const press = (n: DrawnNode) => (e: KeyboardEvent) => {
    if (e.key !== 'Enter' && e.key !== ' ') return
    e.preventDefault()
    go(n)
  }
  return (
    <section className={styles.pane} aria-label="Drawing">
      <header className={styles.head}>
        {branches.length > 0 && (
          <select className={control.select} aria-label="Branch that is drawn" value={branch} onChange={e => setBranch(e.target.value)}>
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
            <defs>
              <marker id="drawn-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
                <path d="M 0 0 L 8 4 L 0 8 z" className={styles.arrow} />
              </marker>
            </defs>
            {(drawing.nodes ?? [])
              .filter(n => n.kind === 'frame')
              .map(n => (
                <rect key={n.id} x={n.x} y={n.y} width={n.width} height={n.height} rx={10} className={styles.frame} />
              ))}
            {(drawing.edges ?? []).map(e => (
              <g key={e.id}>
                <path
                  d={curveOf(e.points ?? [], e.from === e.to)}
                  className={styles.edge}
                  data-kind={e.kind}
                  data-back={e.back || undefined}
                  data-fails={e.fails || undefined}
                  markerEnd="url(#drawn-arrow)"
                />
                {e.label && (
                  <text x={e.labelX} y={e.labelY} className={styles.label}>
                    {short(clean(e.label), 28)}
                  </text>
                )}
              </g>
            ))}
            {(drawing.nodes ?? [])
              .filter(n => n.kind !== 'frame')
              .map(n =>
                n.hidden ? (
                  <circle key={n.id} cx={n.x + n.width / 2} cy={n.y + n.height / 2} r={3} className={styles.point} />
                ) : (
                  <g
                    key={n.id}
                    role="button"
                    tabIndex={n.span ? 0 : -1}
                    aria-label={[`${titleOf(n)} ${wordOf(n)}`, worst.get(n.node), states?.get(n.node)].filter(Boolean).join(', ')}
                    className={styles.node}
                    data-kind={n.kind}
                    data-at={n.id === at || undefined}
                    data-state={states?.get(n.node)}
                    data-problem={worst.get(n.node)}
                    onClick={() => go(n)}
                    onKeyDown={press(n)}
                  >
                    <rect x={n.x} y={n.y} width={n.width} height={n.height} rx={roundOf(n)} />
                    <text x={n.x + n.width / 2} y={n.y + n.height / 2 - (n.word ? 4 : -4)} className={styles.title}>
                      {titleOf(n)}
                    </text>{' '}
                    {n.word && (
                      <text x={n.x + n.width / 2} y={n.y + n.height / 2 + 12} className={styles.word}>
                        {wordOf(n)}
                      </text>
                    )}
                  </g>
                ),
              )}
          </svg>
        )}
      </div>
    </section>
  )
}

const short = (text: string, n: number): string => {
  const line = text.replace(/\s+/g, ' ')
  return line.length > n ? `${line.slice(0, Math.max(1, n - 1))}…` : line
}

// What is drawn of a node is also how it is called.
const titleOf = (n: DrawnNode): string => short(clean(n.title), Math.floor(n.width / 7.4))
const wordOf = (n: DrawnNode): string => short(clean(n.word), Math.floor(n.width / 6.5))

const roundOf = (n: DrawnNode): number => (n.kind === 'start' || n.kind === 'end' ? n.height / 2 : n.kind === 'decide' ? 2 : 8)
