//! Parses settings. Errors complete a sentence that starts with the setting's name.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use switchhook_core::webhook::{AddressPolicy, Schedule, entered_url};
use tracing_subscriber::EnvFilter;

use super::{LogFormat, NodeRole};

/// Parses a whole number with `ms`, `s`, `m` or `h`.
///
/// # Errors
/// The expected form of a duration.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("must be a whole number with ms, s, m or h, such as 500ms or 5s, not {text:?}");
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let millis = match unit {
        "ms" => Some(number),
        "s" => number.checked_mul(1_000),
        "m" => number.checked_mul(60_000),
        "h" => number.checked_mul(3_600_000),
        _ => None,
    };
    millis.map(Duration::from_millis).ok_or_else(wrong)
}

pub(super) fn positive_duration(text: &str) -> Result<Duration, String> {
    let duration = parse_duration(text)?;
    if duration.is_zero() { Err("must be longer than zero".to_owned()) } else { Ok(duration) }
}

pub(super) fn schedule(text: &str) -> Result<Schedule, String> {
    let delays = text.split(',').map(|delay| parse_duration(delay.trim())).collect::<Result<Vec<_>, _>>()?;
    Schedule::new(&delays).map_err(|_| format!("must be seven durations, not {}", delays.len()))
}

pub(super) fn policy(text: &str) -> Result<AddressPolicy, String> {
    text.parse().map_err(|error| format!("must be networks such as 127.0.0.0/8, and http: {error}"))
}

/// Parses the service's own address. Other addresses are made from its text, so it is returned as requests use it, without a slash at
/// its end.
pub(super) fn public_url(text: &str) -> Result<String, String> {
    // In front of an @ there may be a password, which is not shown.
    let shown = if text.contains('@') { String::new() } else { format!(", not {text:?}") };
    let wrong = || format!("must be an http:// or https:// address, such as https://voice.example.com{shown}");
    let stored = entered_url(text).map_err(|_| wrong())?;
    let url = url::Url::parse(&stored).map_err(|_| wrong())?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not contain a user name or password: leave out what is in front of the @".to_owned());
    }
    let fits = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.query().is_none()
        && url.fragment().is_none()
        && !url.path().contains("//");
    if fits { Ok(stored.trim_end_matches('/').to_owned()) } else { Err(wrong()) }
}

pub(super) fn database_url(text: &str) -> Result<String, String> {
    let known = ["sqlite://", "postgres://", "postgresql://"];
    if !known.iter().any(|scheme| text.starts_with(scheme)) {
        return Err("must start with sqlite:// or postgres://".to_owned());
    }
    // A parameter would become part of the file's name, and the service start on an empty database.
    if text.strip_prefix("sqlite://").is_some_and(|path| path.is_empty() || path.contains('?')) {
        return Err("must name a file after sqlite://, without parameters".to_owned());
    }
    if let Some(file) = text.strip_prefix("sqlite://") {
        path(file)?;
    }
    let server = text.split_once("://").filter(|(scheme, _)| *scheme != "sqlite");
    if let Some(character) = server.and_then(|(_, rest)| unescaped(rest)) {
        // The text is not shown: it holds the password.
        return Err(format!(
            "has a {character} that ends the user name or password too early: in them write %23 for #, %3F for ?, %40 for @ and %2F for /"
        ));
    }
    Ok(text.to_owned())
}

/// Returns the character of a user name or password that an address, without its scheme, takes for its own structure. Behind the
/// credentials there is no fragment, an `@` only in the value of a parameter, and a port is a number.
fn unescaped(rest: &str) -> Option<char> {
    if rest.contains('#') {
        return Some('#');
    }
    let at = rest.find(['/', '?'])?;
    let (authority, behind) = rest.split_at(at);
    let (path, parameters) = behind.split_once('?').unwrap_or((behind, ""));
    let in_name = |parameter: &str| parameter.split('=').next().is_some_and(|name| name.contains('@'));
    let port =
        authority.rsplit_once('@').map_or(authority, |(_, host)| host).rsplit_once(':').map_or("", |(_, port)| port);
    let no_port = !port.chars().all(|c| c.is_ascii_digit() || c == ']');
    let cut = path.contains('@') || parameters.split('&').any(in_name) || (no_port && behind.contains('@'));
    cut.then_some(if path.is_empty() { '?' } else { '/' })
}

/// Parses one key, or several separated by commas.
pub(super) fn master_key(text: &str) -> Result<String, String> {
    let is_key = |key: &str| STANDARD.decode(key.trim()).is_ok_and(|bytes| bytes.len() == 32);
    if text.split(',').all(is_key) { Ok(text.to_owned()) } else { Err("must be base64 of 32 bytes".to_owned()) }
}

pub(super) fn socket_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| format!("must be ip:port, such as 0.0.0.0:40000, not {text:?}"))
}

/// Parses addresses separated by commas, each with a port or without.
pub(super) fn public_addresses(text: &str) -> Result<Vec<(IpAddr, Option<u16>)>, String> {
    let address = |text: &str| {
        let alone = text.parse().map(|ip| (ip, None));
        alone.or_else(|_| text.parse().map(|address: SocketAddr| (address.ip(), Some(address.port()))))
    };
    let usable = |(ip, _): &(IpAddr, Option<u16>)| !ip.is_unspecified() && !ip.is_multicast();
    text.split(',')
        .map(|part| address(part.trim()).ok().filter(usable))
        .collect::<Option<_>>()
        .ok_or_else(|| format!("must be addresses such as 203.0.113.7 or 203.0.113.7:40000, not {text:?}"))
}

/// Parses the path of a file or folder. Only shells replace a `~`; elsewhere it would name a new folder.
pub(super) fn path(text: &str) -> Result<PathBuf, String> {
    if text.starts_with('~') {
        return Err("has a path that begins with ~, which is not expanded here: write the whole path".to_owned());
    }
    Ok(PathBuf::from(text))
}

pub(super) fn readable_file(text: &str) -> Result<PathBuf, String> {
    let path = path(text)?;
    if path.is_file() { Ok(path) } else { Err(format!("names a file that does not exist: {text}")) }
}

pub(super) fn roles(text: &str) -> Result<Vec<NodeRole>, String> {
    text.split(',')
        .map(|role| match role.trim() {
            "api" => Ok(NodeRole::Api),
            "calls" => Ok(NodeRole::Calls),
            "webhooks" => Ok(NodeRole::Webhooks),
            other => Err(format!("must be some of api, calls and webhooks, not {other:?}")),
        })
        .collect()
}

/// Levels of `log`.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

pub(super) fn log_filter(text: &str) -> Result<String, String> {
    // The parser takes a misspelt level for the name of a module.
    let misspelt = |part: &str| {
        let is_name = !part.is_empty() && !part.contains(['=', '[', ':']);
        is_name && !LEVELS.iter().any(|level| part.eq_ignore_ascii_case(level)) && part.parse::<u8>().is_err()
    };
    if text.split(',').map(str::trim).any(misspelt) || EnvFilter::try_new(text).is_err() {
        let levels = LEVELS.join(", ");
        return Err(format!("must be one of {levels}, also by module as in info,switchhook::http=debug, not {text:?}"));
    }
    Ok(text.to_owned())
}

pub(super) fn log_format(text: &str) -> Result<LogFormat, String> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err(format!("must be text or json, not {text:?}")),
    }
}
