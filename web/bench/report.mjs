// This module formats the results as a table with the goals.
import {cpus, release, totalmem, type} from 'node:os'
import {median, quantile} from './measure.mjs'

// row returns a row of the table: a name, a unit (ms or MB), the measured values, and optionally a
// goal. of selects the statistic that is compared with the goal: the median or the 95th percentile.
export const row = (name, unit, values, goal = null, of = 'median') => ({
  name,
  unit,
  of,
  goal,
  median: median(values),
  p95: quantile(values, 0.95),
  values: values.length,
})

export const isMet = r => r.goal === null || r[r.of] <= r.goal

const figure = (v, unit) =>
  unit === 'ms' && v >= 1000 ? `${(v / 1000).toFixed(2)} s` : `${v < 10 ? v.toFixed(1) : Math.round(v)} ${unit}`

export const machine = browser => ({
  cores: cpus().length,
  cpu: cpus()[0]?.model.trim() ?? '',
  memoryGB: Math.round(totalmem() / 1e9),
  system: `${type()} ${release()}`,
  browser,
})

// table formats the rows in aligned columns.
export function table(rows, on) {
  const cells = [
    ['', 'median', 'p95', 'of', 'goal', ''],
    ...rows.map(r => [
      r.name,
      figure(r.median, r.unit),
      figure(r.p95, r.unit),
      String(r.values),
      r.goal === null ? '' : `${r.of === 'p95' ? 'p95 ' : ''}≤ ${figure(r.goal, r.unit)}`,
      r.goal === null ? '' : isMet(r) ? 'met' : 'missed',
    ]),
  ]
  const widths = cells[0].map((_, i) => Math.max(...cells.map(line => line[i].length)))
  const lines = cells.map(line =>
    line
      .map((c, i) => (i === 0 || i === 5 ? c.padEnd(widths[i]) : c.padStart(widths[i])))
      .join('  ')
      .trimEnd(),
  )
  const {cores, cpu, memoryGB, system, browser} = on
  return (
    `${lines.join('\n')}\n\n` +
    `${cores} cores (${cpu}), ${memoryGB} GB, ${system}, ${browser}, ` +
    `load average ${on.load}\n`
  )
}
