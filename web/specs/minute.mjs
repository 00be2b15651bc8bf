// The first minute: a user follows the link, runs the sample, and sees it complete.
// The link works once, and its code is in no request line, no Referer and no history entry. (The
// test that starts the server checks that it is in no log and in no file.)
import {check, follow, withPages} from './lib.mjs'

export const spec = (browser, {origin, link, opened}) =>
  withPages(browser, origin, async ({open, requests, allow}) => {
    const code = new URL(link).hash.replace('#code=', '')
    check('the link has a code', code.length > 20, link)
    const page = await open()
    await follow(page, link)
    await page.getByRole('heading', {name: 'Begin with a sample'}).waitFor()
    check('the code is gone from the address', !page.url().includes(code) && !page.url().includes('#'), page.url())
    await page.getByRole('button', {name: /^Run\s*: Count the letters/}).click()
    await page.getByText('5 words, 28 characters').first().waitFor()
    await page.locator('main').getByText('completed', {exact: true}).first().waitFor()
    await page.locator('.react-flow__node').nth(3).waitFor()
    const kept = await page.evaluate(
      c => JSON.stringify({...localStorage, ...sessionStorage, state: history.state}).includes(c),
      code,
    )
    check('the code is not kept', !kept)
    const {entries} = await page
      .context()
      .newCDPSession(page)
      .then(cdp => cdp.send('Page.getNavigationHistory'))
    check(
      'no entry of the history has the code',
      entries.length > 1 && !entries.some(e => e.url.includes(code)),
      entries.map(e => e.url).join(),
    )
    await page.goBack()
    check('going back does not bring the code back', !page.url().includes(code), page.url())
    await page.goForward()
    await page.reload()
    await page.getByText('5 words, 28 characters').first().waitFor()

    allow(/status of 401/)
    const other = await open()
    await follow(other, link)
    await other.getByRole('alert').waitFor() // the link works once
    await other.getByRole('button', {name: 'Use a token instead'}).click()
    await other.getByLabel('Token').waitFor()
    check('the code is gone from the address again', !other.url().includes(code), other.url())
    // `hocket open` creates another link, which works in another browser.
    const again = await open()
    await again.goto(`${origin}/`)
    await again.getByRole('button', {name: 'Sign in'}).waitFor()
    await follow(again, opened) // in the tab that asks for a token; only the fragment changes
    await again.getByRole('navigation', {name: 'Main'}).waitFor()

    const codes = [code, new URL(opened).hash.replace('#code=', '')]
    const leaks = requests.filter(r => codes.some(c => r.referer.includes(c) || r.url.split('#')[0].includes(c)))
    check('no request line and no Referer has the code', leaks.length === 0, JSON.stringify(leaks))
  })
