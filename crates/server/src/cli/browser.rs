//! Opens the dashboard in the browser of a terminal's user.

use std::env::var_os;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{self, Path};

use crate::files;

/// Page in the data directory that leads to the sign-in link.
const PAGE: &str = "sign-in.html";

/// Where a command runs, as far as it decides whether a browser would open in front of its user.
#[derive(Clone, Copy, Debug)]
struct Desktop {
    /// Output goes to a terminal.
    terminal: bool,
    /// The terminal is on another machine.
    remote: bool,
    /// Windows can be shown.
    display: bool,
}

impl Desktop {
    fn current() -> Self {
        let is_set = |name| var_os(name).is_some_and(|value| !value.is_empty());
        Self {
            terminal: io::stdin().is_terminal() && io::stdout().is_terminal(),
            remote: is_set("SSH_CONNECTION") || is_set("SSH_TTY"),
            display: cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"),
        }
    }

    fn has_browser(self) -> bool {
        self.terminal && self.display && !self.remote
    }
}

/// Opens a sign-in link where its user can see it. Returns whether a browser was started.
///
/// Arguments of a process can be read by every user of the machine, so the browser gets a private page that leads to the link.
///
/// # Errors
/// If the page cannot be written or no browser can be started.
pub(super) fn open_sign_in(data_dir: &Path, link: &str) -> io::Result<bool> {
    if !Desktop::current().has_browser() {
        return Ok(false);
    }
    let page = path::absolute(data_dir.join(PAGE))?;
    files::private_file(&page)?.write_all(redirect(link).as_bytes())?;
    open::that_detached(page)?;
    Ok(true)
}

/// Returns an HTML page that leads to a link.
fn redirect(link: &str) -> String {
    let link = link.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Switchhook</title>\n<meta http-equiv=\"refresh\" content=\"0; url={link}\">\n\
         <p><a href=\"{link}\">Sign in to the dashboard</a></p>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_opens_only_on_the_desktop_of_the_user() {
        let desktop = Desktop { terminal: true, remote: false, display: true };
        assert!(desktop.has_browser());
        assert!(!Desktop { terminal: false, ..desktop }.has_browser(), "a script or a service");
        assert!(!Desktop { remote: true, ..desktop }.has_browser(), "a remote shell, even with a forwarded display");
        assert!(!Desktop { display: false, ..desktop }.has_browser(), "a console or a container");
    }

    #[test]
    fn the_page_leads_to_the_link_and_to_nothing_else() {
        let page = redirect("http://127.0.0.1:8080/auth/login?token=t0&a=\"><script>");
        assert!(page.contains("url=http://127.0.0.1:8080/auth/login?token=t0&amp;a="), "{page}");
        assert!(!page.contains("<script>"), "{page}");
    }
}
