// The documents of the examples and of the seeds (in internal/conformance/testdata)
// are opened, edited, undone and stored; they stay the same byte for byte, and no version is
// created. This holds in the text editor and, for documents that are drawn, in the canvas editor,
// where nodes are also moved and tidied. (web/src/canvas/roundtrip.test.ts covers the documents of
// all tests, without a browser.)
import {readdirSync, readFileSync} from 'node:fs'
import {basename, join} from 'node:path'
import {caller, check, settled, signIn, until, withPages} from './lib.mjs'

const root = new URL('../../', import.meta.url).pathname
const folders = ['examples', 'internal/conformance/testdata']

// documentsOf returns the documents of the folders that the server accepts as drafts, by id.
async function documentsOf(origin, token) {
  const out = new Map()
  for (const folder of folders) {
    for (const file of readdirSync(join(root, folder), {recursive: true})) {
      if (!/\.(ya?ml|json)$/.test(file) || /^(replies|tools|agents)\./.test(basename(file))) continue
      const document = readFileSync(join(root, folder, file), 'utf8')
      const store = body =>
        fetch(`${origin}/api/v1/workflows`, {
          method: 'POST',
          headers: {Authorization: `Bearer ${token}`, 'Content-Type': 'application/json'},
          body: JSON.stringify({document, draft: true, allowUnknown: true, ...body}),
        })
      let answer = await store({id: `${basename(file).replace(/\W+/g, '-')}-${out.size}`})
      let text = await answer.text()
      if (answer.status === 422 && text.includes('"same-id"')) {
        answer = await store({}) // the document has an id of its own
        text = await answer.text()
      }
      const {id, format} = JSON.parse(text)
      if (answer.ok) out.set(id, {document, file: join(folder, file), format})
      // 409 means that another file has a workflow with the same id
      else check(`${file} is refused for a reason`, [409, 422].includes(answer.status), text)
    }
  }
  return out
}

const changed = page => page.getByText('changes not stored')
const said = (page, text) => page.getByRole('status').filter({hasText: text}).first().waitFor()

async function inText(page) {
  const area = page.getByRole('textbox', {name: 'Document', exact: true})
  await area.click()
  await page.keyboard.press('Control+End')
  await page.keyboard.insertText('\n# ä👩 ')
  await changed(page).waitFor()
  await page.keyboard.press('Control+Home')
  await page.keyboard.insertText('x')
  const undo = page.getByRole('button', {name: 'Undo'})
  await until('all is undone', async () => {
    if (await undo.isDisabled()) return true
    await undo.click()
    return false
  })
}

async function onCanvas(page) {
  await page.locator('.react-flow__node').first().waitFor()
  await page.getByRole('button', {name: 'Tidy'}).click()
  await page.locator('.react-flow__node').first().focus()
  await page.keyboard.press('Alt+ArrowRight')
  await page.keyboard.press('Delete')
  await changed(page).waitFor()
  await page.locator('[data-drawing]').focus()
  await page.keyboard.press('Control+z')
}

export const spec = (browser, {origin, token}) =>
  withPages(browser, origin, async ({open}) => {
    const api = caller(origin, token)
    const documents = await documentsOf(origin, token)
    const kinds = new Set()
    const page = await open()
    await signIn(page, origin, token)
    // show leaves the current page and opens an editor as a link does: the scripts stay loaded, and
    // the document is requested from the server.
    const show = async path => {
      for (const to of ['/schedules', path]) {
        await page.evaluate(to => history.pushState(null, '', to), to)
        if (to !== path) await page.getByRole('heading', {name: 'Schedules', level: 1}).waitFor()
      }
    }
    for (const [id, {document, file, format}] of documents) {
      const ways = {text: inText, ...(format === 'canvas' && file.endsWith('.json') ? {canvas: onCanvas} : {})}
      for (const [pane, act] of Object.entries(ways)) {
        kinds.add(`${format} ${pane}`)
        await show(`/workflows/${id}/edit?pane=${pane}`)
        await page.locator(`h1 a[href="/workflows/${encodeURIComponent(id)}"]`).waitFor()
        await settled(page)
        await act(page)
        await changed(page).waitFor({state: 'detached'})
        await page.keyboard.press('Control+s')
        await said(page, 'There is no change to store.')
      }
      const now = await api(`/workflows/${id}?draft=true`)
      check(
        `${file} is as it was`,
        now.document === document && now.versions.length === 1,
        JSON.stringify(now.versions),
      )
    }
    console.error(`${documents.size} documents`)
    check(
      'there are documents of each format',
      documents.size > 25 && kinds.size === 5,
      `${documents.size}: ${[...kinds].join()}`,
    )
  })
