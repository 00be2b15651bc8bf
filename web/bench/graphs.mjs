// This benchmark measures a graph of 500 nodes in the canvas editor and in a run that is in
// progress.
import {settled} from '../specs/lib.mjs'
import {canvasOf500} from './documents.mjs'
import {frames, moves, opened, repeat} from './measure.mjs'
import {row} from './report.mjs'

const frame = 35

const isDrawn = n =>
  document.querySelectorAll('.react-flow__node').length >= n &&
  document.querySelectorAll('.react-flow__edge').length >= n - 1 &&
  performance.now()

const wheel = async page => {
  for (let i = 0; i < 40; i++) await page.mouse.wheel(0, i % 20 < 10 ? -120 : 120)
}

// emptySpot returns a position on the canvas that has no node.
const emptySpot = page =>
  page.evaluate(() => {
    const box = document.querySelector('.react-flow__pane').getBoundingClientRect()
    for (let y = box.top + 60; y < box.bottom - 60; y += 7)
      for (let x = box.left + 60; x < box.right - 60; x += 11)
        if (document.elementFromPoint(x, y)?.classList.contains('react-flow__pane')) return {x, y}
    throw new Error('the drawing has no free place')
  })

async function pan(page) {
  const at = await emptySpot(page)
  await page.mouse.move(at.x, at.y)
  await page.mouse.down()
  const list = await frames(page, () => moves(page, at, 40, 60))
  await page.mouse.up()
  return list
}

async function zoom(page) {
  const at = await emptySpot(page)
  await page.mouse.move(at.x, at.y)
  return frames(page, () => wheel(page))
}

// waitUntilStill waits until the canvas stops moving. It polls on a timer, because a browser may
// not render frames of a page on which nothing changes.
const waitUntilStill = page =>
  page.waitForFunction(
    () => {
      const at = document.querySelector('.react-flow__viewport').style.transform
      window.benchStill = at === window.benchPlace ? window.benchStill + 1 : 0
      window.benchPlace = at
      return window.benchStill > 5
    },
    null,
    {polling: 50},
  )

// middleNode returns the middle one of the nodes that the mouse can grab, and its position.
const middleNode = async page => {
  const found = await page.waitForFunction(
    () => {
      const free = [...document.querySelectorAll('.react-flow__node')].flatMap(node => {
        const box = node.getBoundingClientRect()
        const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
        return node.contains(document.elementFromPoint(x, y)) ? [{id: node.dataset.id, x, y}] : []
      })
      return free[Math.floor(free.length / 2)]
    },
    null,
    {polling: 50},
  )
  return found.jsonValue()
}

// drag moves a node around with the mouse. It fails if the node does not follow.
async function drag(page) {
  const {id, ...at} = await middleNode(page)
  const node = page.locator(`.react-flow__node[data-id="${id}"]`)
  const place = () => node.evaluate(e => e.style.transform)
  const begun = await place()
  let around = begun
  await page.mouse.move(at.x, at.y)
  await page.mouse.down()
  const list = await frames(page, async () => {
    await moves(page, at, 20, 30)
    around = await place()
    await moves(page, at, 20, 30)
  })
  await page.mouse.up()
  if (around === begun) throw new Error(`the node ${id} does not follow the mouse`)
  return list
}

export async function editor({api, open, origin}) {
  await api('/workflows', {id: 'office', document: canvasOf500()})
  const page = await open()
  const url = `${origin}/workflows/office/edit`
  const times = await repeat(() => opened(page, url, isDrawn, 500))
  await settled(page)
  const all = {drag: [], pan: [], zoom: []}
  await repeat(async () => {
    await page.getByRole('button', {name: 'Fit', exact: true}).click()
    await waitUntilStill(page)
    all.drag.push(...(await drag(page)))
    all.pan.push(...(await pan(page)))
    all.zoom.push(...(await zoom(page)))
  })
  await page.close()
  return [
    row('canvas of 500 nodes: open', 'ms', times, 2000),
    row('canvas of 500 nodes: a frame while a node is dragged', 'ms', all.drag, frame, 'p95'),
    row('canvas of 500 nodes: a frame while it is panned', 'ms', all.pan, frame, 'p95'),
    row('canvas of 500 nodes: a frame while it is zoomed', 'ms', all.zoom, frame, 'p95'),
  ]
}

export async function liveGraph({api, open, origin}) {
  const {id} = await api('/runs', {document: canvasOf500(), format: 'canvas', name: 'office', input: 'Begin'})
  const page = await open()
  const url = `${origin}/runs/${id}?tab=graph`
  const times = await repeat(() => opened(page, url, isDrawn, 500))
  const all = {pan: [], zoom: []}
  await repeat(async () => {
    all.pan.push(...(await pan(page)))
    all.zoom.push(...(await zoom(page)))
  })
  const run = await api(`/runs/${id}`)
  if (run.status !== 'running') throw new Error(`the run of 500 nodes is ${run.status} before it was measured`)
  await api(`/runs/${id}/cancel`, {reason: 'measured'})
  await page.close()
  return [
    row('run of 500 nodes that goes on: open', 'ms', times, 2000),
    row('run of 500 nodes that goes on: a frame while it is panned', 'ms', all.pan, frame, 'p95'),
    row('run of 500 nodes that goes on: a frame while it is zoomed', 'ms', all.zoom, frame, 'p95'),
  ]
}
